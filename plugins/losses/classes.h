/* classes.h - the shell of a loss of rows of outputs (B, ..., N) and their classes (B, ...), or where LOSS_PROBABILITIES
 * is defined probabilities (B, ..., N).  The including file defines what loss_plugin.h wants, but loss_rows instead of
 * loss_emit.  LOSS_PLAIN_MEAN: the mean is over rows, whatever their weights. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LOSS_CLASSES_H
#define LOSS_CLASSES_H

#define LOSS_IGNORES
#define LOSS_WEIGHTS "weight"
#include "loss_plugin.h"

/* The targets of a batch. */
typedef struct loss_targets {
    tutti_value x; /* the outputs, (B, ..., N) */
    tutti_value y; /* as they are given */
    tutti_value
        shares; /* (B, ..., N) F32: one 1 in each row, or probabilities; zeros in rows that do not count */
    tutti_value
        counts; /* (B, ...): whether a row counts, 1 or 0, or the sum of its probabilities */
    tutti_value weighs; /* (B, ...): what a row counts in the mean */
    int64_t n;          /* classes */
    int32_t classes;    /* y are classes */
    int32_t reserved;
} loss_targets;

/* The plugin's own: the losses of rows, (B, ...), each times the weight of its class. */
static tutti_value loss_rows(const loss *l, tutti_graph *g, const loss_targets *t);

static inline tutti_value loss_sum_last(tutti_graph *g, tutti_value v)
{
    const int64_t last = g->desc(g, v)->rank - 1;
    return tutti_reduce(g, "sum", v, &last, 1, 0);
}

/* (B, ...) as (B, ..., 1). */
static inline tutti_value loss_column(tutti_graph *g, tutti_value v)
{
    tutti_desc d = *g->desc(g, v);
    d.dim[d.rank++] = 1;
    return tutti_reshape(g, v, d.dim, (uint32_t)d.rank);
}

/* v (B, ..., N) times the weights of classes, where there are any. */
static inline tutti_value loss_weighted(const loss *l, tutti_graph *g, tutti_value v)
{
    return l->weights ? tutti_mul(g, v, loss_weights(l, g)) : v;
}

static inline void loss_take_classes(const loss *l, tutti_graph *g, loss_targets *t)
{
    static const int32_t zero;
    const tutti_tensor none = {(void *)&zero, {{0}, 0, TUTTI_I32}, TUTTI_DEVICE_CPU, 0};
    const tutti_attr differ = tutti_attr_i("kind", 1), n = tutti_attr_i("classes", t->n);
    const tutti_value pair[2] = {loss_cast(g, t->y, TUTTI_F32),
                                 loss_number(g, (double)l->ignored)};
    t->counts = g->emit(g, "cmp", pair, 2, &differ, 1, NULL, 0);
    const tutti_value safe =
        tutti_where(g, t->counts, loss_cast(g, t->y, TUTTI_I32), g->constant(g, &none));
    t->shares = tutti_mul(g, g->emit(g, "one_hot", &safe, 1, &n, 1, NULL, 0),
                          loss_column(g, t->counts));
    t->weighs = l->weights ? loss_sum_last(g, loss_weighted(l, g, t->shares)) : t->counts;
}

/* 0 where the target does not fit. */
static inline int loss_take(const loss *l, tutti_graph *g, loss_targets *t)
{
    const tutti_desc x = *g->desc(g, t->x), y = *g->desc(g, t->y);
    char text[160];
    t->n = x.rank ? x.dim[x.rank - 1] : 0;
    if (l->weights && l->nweights != t->n && t->n) {
        (void)snprintf(text, sizeof text,
                       "weight has %lld numbers, and the output has %lld classes",
                       (long long)l->nweights, (long long)t->n);
        (void)g->fail(g, TUTTI_E_SHAPE, text);
        return 0;
    }
    t->classes = loss_is_class(y.dtype) && loss_has_rows(&x, &y);
    if (t->classes) {
        loss_take_classes(l, g, t);
        return 1;
    }
#ifdef LOSS_PROBABILITIES
    if (y.dtype == TUTTI_F32 && tutti_same_shape(&x, &y) && x.rank > 1) {
        t->shares = t->y;
        t->counts = t->weighs = loss_sum_last(g, t->y);
        return 1;
    }
    (void)loss_refuse(g, "classes (B, ...) or F32 probabilities (B, ..., N)", t->x, t->y);
#else
    (void)loss_refuse(g, "classes (B, ...)", t->x, t->y);
#endif
    return 0;
}

/* Means are over the rows that count, by their weights; 0 where none does. */
static tutti_value loss_emit(const loss *l, tutti_graph *g, const tutti_loss_input *in)
{
    static const int64_t rest[TUTTI_MAX_RANK] = {1, 2, 3, 4, 5};
    const tutti_attr least = tutti_attr_f("min", 1e-30);
    loss_targets t = {.x = in->outputs[0], .y = in->targets[0]};
    if (!loss_take(l, g, &t))
        return 0;
    const tutti_value rows = loss_rows(l, g, &t);
    const int32_t rank = g->desc(g, rows)->rank;
    const uint32_t naxes = /* none: all */
        in->reduction == TUTTI_REDUCTION_MEAN || rank < 1 ? 0 : (uint32_t)rank - 1;
    if (l->reduction || (in->reduction != TUTTI_REDUCTION_MEAN && naxes == 0))
        return loss_reduce(l, g, rows, in->reduction);
#ifdef LOSS_PLAIN_MEAN
    t.weighs = t.counts;
#endif
    tutti_value n = tutti_reduce(g, "sum", t.weighs, rest, naxes, 0);
    n = g->emit(g, "clamp", &n, 1, &least, 1, NULL, 0);
    return tutti_div(g, tutti_reduce(g, "sum", rows, rest, naxes, 0), n);
}

#endif
