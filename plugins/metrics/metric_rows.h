/* metric_rows.h - rows of logits and their targets, as metrics of classification read them. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef METRIC_ROWS_H
#define METRIC_ROWS_H

#include "refusal.h"
#include "tutti/metric.h"
#include "tutti/tutti.h"

#include <math.h>
#include <stdlib.h>

/* The target of one row: a class, or a distribution over the classes. */
typedef struct metric_target {
    int64_t class_index;
    const float *soft; /* NULL: a class */
} metric_target;

/* The first of the largest. */
static inline int64_t metric_argmax(const float *x, int64_t n)
{
    int64_t best = 0;
    for (int64_t j = 1; j < n; j++)
        if (x[j] > x[best])
            best = j;
    return best;
}

/* How many classes come before class `c`: larger logits, and equal ones with a smaller index.  A NaN
 * comes last of all. */
static inline int64_t metric_rank(const float *x, int64_t n, int64_t c)
{
    int64_t rank = 0;
    if (isnan(x[c]))
        return n;
    for (int64_t j = 0; j < n; j++)
        rank += x[j] > x[c] || (x[j] == x[c] && j < c);
    return rank;
}

/* Whether `y` has the leading dimensions of `x` (class indices), or all of them (soft targets). */
static inline int metric_fits(const tutti_desc *x, const tutti_desc *y)
{
    const int soft = y->dtype == TUTTI_F32;
    if (!soft && y->dtype != TUTTI_I32 && y->dtype != TUTTI_I64)
        return 0;
    if (x->dtype != TUTTI_F32 || x->rank < 2 || y->rank != x->rank - (soft ? 0 : 1))
        return 0;
    for (int32_t k = 0; k < y->rank; k++)
        if (y->dim[k] != x->dim[k])
            return 0;
    return x->dim[x->rank - 1] > 0;
}

/* One tensor of logits and one of targets that fit, in the host's memory. */
static inline tutti_status metric_check(const char *name, const tutti_metric_input *in,
                                        tutti_error *err)
{
    if (in->noutputs < 1 || in->ntargets < 1)
        return tutti_fail(err, TUTTI_E_ARG,
                          "%s: got %u outputs and %u targets, want one of each", name,
                          in->noutputs, in->ntargets);
    if (in->outputs[0].device != TUTTI_DEVICE_CPU || in->targets[0].device != TUTTI_DEVICE_CPU)
        return tutti_fail(err, TUTTI_E_UNSUPPORTED,
                          "%s: outputs or targets are not in the host's memory", name);
    if (!metric_fits(&in->outputs[0].desc, &in->targets[0].desc))
        return metric_refuse(name, "F32 (B, N) and I32 or I64 (B), or F32 (B, N)", in, err);
    return TUTTI_OK;
}

/* The classes that do not count: none where `ignores` is 0. */
typedef struct metric_ignored {
    int64_t class_index;
    int32_t ignores;
    int32_t reserved;
} metric_ignored;

static inline metric_ignored metric_ignored_of(const tutti_params *params)
{
    const metric_ignored i = {.class_index = tutti_param_i64(params, "ignore_index"),
                              .ignores = tutti_param_is_set(params, "ignore_index")};
    return i;
}

/* Target `r` of in->targets; *ret_counts is 0 where its class is ignored.  Errors: E_RANGE. */
static inline tutti_status metric_read_target(const char *name, const tutti_metric_input *in,
                                              int64_t r, int64_t classes,
                                              metric_ignored ignored, metric_target *ret_target,
                                              int *ret_counts, tutti_error *err)
{
    const tutti_tensor *y = &in->targets[0];
    metric_target t = {0, NULL};
    *ret_counts = 1;
    if (y->desc.dtype == TUTTI_F32)
        t.soft = (const float *)y->data + r * classes;
    else
        t.class_index = y->desc.dtype == TUTTI_I32 ? ((const int32_t *)y->data)[r]
                                                   : ((const int64_t *)y->data)[r];
    *ret_target = t;
    if (!t.soft && ignored.ignores && t.class_index == ignored.class_index) {
        *ret_counts = 0;
        return TUTTI_OK;
    }
    if (t.class_index < 0 || t.class_index >= classes)
        return tutti_fail(err, TUTTI_E_RANGE, "%s: target %lld is class %lld, want 0 to %lld",
                          name, (long long)r, (long long)t.class_index,
                          (long long)(classes - 1));
    return TUTTI_OK;
}

#endif
