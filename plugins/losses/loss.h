/* loss.h - what losses share: which outputs and targets fit each other, constants, reductions. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_LOSS_H
#define PLUGIN_LOSS_H

#include "../common/shapes_pair.h"
#include "tutti/loss.h"
#include "tutti/ops.h"
#include "tutti/tutti.h"

#include <stdio.h>
#include <string.h>

/* What becomes of losses: their mean, their sum, or the mean of the sums of samples. */
enum { LOSS_MEAN, LOSS_SUM, LOSS_BATCHMEAN };

/* One loss's settings, of those that there are. */
typedef struct loss {
    double value;   /* LOSS_VALUE */
    double second;  /* LOSS_SECOND */
    double third;   /* LOSS_THIRD */
    float *weights; /* LOSS_WEIGHTS, `nweights` of them; NULL: none are given */
    int64_t nweights;
    float *factors; /* LOSS_FACTORS, `nfactors` of them; NULL: none are given */
    int64_t nfactors;
    int64_t ignored;   /* ignore_index */
    int64_t whole;     /* LOSS_WHOLE */
    int32_t reduction; /* LOSS_*, in the order of the manifest's words */
    int32_t flag;      /* LOSS_FLAG */
} loss;

/* One F32 number. */
static inline tutti_value loss_number(tutti_graph *g, double value)
{
    float number = (float)value;
    const tutti_tensor t = {&number, {{0}, 0, TUTTI_F32}, TUTTI_DEVICE_CPU, 0};
    return g->constant(g, &t);
}

static inline int loss_is_class(int32_t dtype)
{
    return dtype == TUTTI_I32 || dtype == TUTTI_I64;
}

/* Whether `y` (B, ...) has a class for each row of `x` (B, ..., N). */
static inline int loss_has_rows(const tutti_desc *x, const tutti_desc *y)
{
    int32_t k = 0;
    while (k < y->rank && k < x->rank && x->dim[k] == y->dim[k])
        k++;
    return x->rank == y->rank + 1 && k == y->rank && y->rank > 0;
}

/* The loss does not fit: says what there is, what it wants, and which losses fit.  Returns 0. */
static inline tutti_value loss_refuse(tutti_graph *g, const char *want, tutti_value output,
                                      tutti_value target)
{
    char text[480], a[96], b[96];
    const tutti_desc x = *g->desc(g, output), y = *g->desc(g, target);
    const char *fits =
        loss_is_class(y.dtype) && loss_has_rows(&x, &y)
            ? "of classes cross_entropy, focal or multi_margin fits these"
        : shapes_pair(&x, &y)
            ? "of numbers mse, l1, smooth_l1, huber or bce_with_logits fits these"
            : "no loss fits these: the model wants another head, or the data another target";
    (void)snprintf(text, sizeof text, "the output is %s and the target %s, want %s; %s",
                   tutti_desc_text(&x, a, sizeof a), tutti_desc_text(&y, b, sizeof b), want,
                   fits);
    (void)g->fail(g, TUTTI_E_SHAPE, text);
    return 0;
}

static inline tutti_value loss_cast(tutti_graph *g, tutti_value v, int32_t dtype)
{
    const tutti_attr to = tutti_attr_i("dtype", dtype);
    return g->desc(g, v)->dtype == dtype ? v : g->emit(g, "cast", &v, 1, &to, 1, NULL, 0);
}

/* The target as F32 numbers in the output's shape; 0 where it does not fit. */
static inline tutti_value loss_numbers(tutti_graph *g, tutti_value output, tutti_value target)
{
    const tutti_desc x = *g->desc(g, output), y = *g->desc(g, target);
    if (!shapes_pair(&x, &y))
        return loss_refuse(g, "a number for each of the output's", output, target);
    target = loss_cast(g, target, TUTTI_F32);
    return tutti_same_shape(&x, &y) ? target
                                    : tutti_reshape(g, target, x.dim, (uint32_t)x.rank);
}

/* Losses of elements or rows (B, ...) -> their mean or sum, of the batch (MEAN) or of each sample (NONE). */
static inline tutti_value loss_reduce(const loss *l, tutti_graph *g, tutti_value each,
                                      int32_t reduction)
{
    static const int64_t rest[TUTTI_MAX_RANK] = {1, 2, 3, 4, 5};
    const int32_t rank = g->desc(g, each)->rank;
    const uint32_t naxes = /* none: all */
        reduction == TUTTI_REDUCTION_MEAN || rank < 1 ? 0 : (uint32_t)rank - 1;
    if (l->reduction == LOSS_BATCHMEAN && rank > 1) {
        const tutti_value samples = tutti_reduce(g, "sum", each, rest, (uint32_t)rank - 1, 0);
        return naxes ? samples : tutti_reduce(g, "mean", samples, NULL, 0, 0);
    }
    if (reduction != TUTTI_REDUCTION_MEAN && naxes == 0)
        return each;
    return tutti_reduce(g, l->reduction == LOSS_SUM ? "sum" : "mean", each, rest, naxes, 0);
}

#endif
