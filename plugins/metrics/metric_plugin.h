/* metric_plugin.h - the shell of a metric plugin over logits: rows, targets, sums.  The including file
 * defines METRIC_NAME, the object's name, first and metric_row after.  It may define
 * METRIC_OF_MEAN(mean) first: what is computed from the mean of the rows. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef METRIC_PLUGIN_H
#define METRIC_PLUGIN_H

#include "tutti/metric.h"
#include "tutti/tutti.h"

#include <math.h>
#include <stdlib.h>

#ifndef METRIC_OF_MEAN
#define METRIC_OF_MEAN(mean) (mean)
#endif

typedef struct metric {
    tutti_metric_v1 table;
    double sums[2]; /* what is counted, and over how much */
    int64_t k;
    int64_t ignore_index; /* rows of this class do not count */
    int32_t ignores;      /* there is such a class */
    int32_t reserved;
} metric;

/* The target of one row: a class, or a distribution over the classes. */
typedef struct metric_target {
    int64_t class_index;
    const float *soft; /* NULL: a class */
} metric_target;

/* The plugin's own: what a row of logits x (classes) adds to the sums. */
static void metric_row(const metric *m, const float *x, int64_t classes, metric_target target,
                       double *sums);

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

static tutti_status metric_check(const tutti_metric_input *in, tutti_error *err)
{
    char outputs[96], targets[96];
    if (in->noutputs < 1 || in->ntargets < 1)
        return tutti_fail(err, TUTTI_E_ARG,
                          METRIC_NAME ": got %u outputs and %u targets, want one of each",
                          in->noutputs, in->ntargets);
    if (in->outputs[0].device != TUTTI_DEVICE_CPU || in->targets[0].device != TUTTI_DEVICE_CPU)
        return tutti_fail(err, TUTTI_E_UNSUPPORTED,
                          METRIC_NAME ": outputs or targets are not in the host's memory");
    if (!metric_fits(&in->outputs[0].desc, &in->targets[0].desc))
        return tutti_fail(
            err, TUTTI_E_SHAPE,
            METRIC_NAME
            ": outputs are %s and targets %s, want F32 (B, N) and I32 or I64 (B), or "
            "F32 (B, N)",
            tutti_desc_text(&in->outputs[0].desc, outputs, sizeof outputs),
            tutti_desc_text(&in->targets[0].desc, targets, sizeof targets));
    return TUTTI_OK;
}

static tutti_status metric_update(void *self, const tutti_metric_input *in, tutti_error *err)
{
    metric *m = (metric *)self;
    const tutti_status status = metric_check(in, err);
    if (status != TUTTI_OK)
        return status;
    const tutti_desc *d = &in->outputs[0].desc;
    const int64_t classes = d->dim[d->rank - 1], rows = tutti_numel(d) / classes;
    const float *x = (const float *)in->outputs[0].data;
    const void *y = in->targets[0].data;
    const int32_t dtype = in->targets[0].desc.dtype;
    double sums[2] = {m->sums[0], m->sums[1]};
    for (int64_t r = 0; r < rows; r++) {
        metric_target target = {0, NULL};
        if (dtype == TUTTI_F32)
            target.soft = (const float *)y + r * classes;
        else
            target.class_index =
                dtype == TUTTI_I32 ? ((const int32_t *)y)[r] : ((const int64_t *)y)[r];
        if (m->ignores && dtype != TUTTI_F32 && target.class_index == m->ignore_index)
            continue;
        if (target.class_index < 0 || target.class_index >= classes)
            return tutti_fail(
                err, TUTTI_E_RANGE, METRIC_NAME ": target %lld is class %lld, want 0 to %lld",
                (long long)r, (long long)target.class_index, (long long)(classes - 1));
        metric_row(m, x + r * classes, classes, target, sums);
    }
    m->sums[0] = sums[0];
    m->sums[1] = sums[1];
    return TUTTI_OK;
}

static void metric_reset(void *self)
{
    metric *m = (metric *)self;
    m->sums[0] = m->sums[1] = 0.0;
}

static double metric_compute(void *self)
{
    const metric *m = (const metric *)self;
    return m->sums[1] > 0.0 ? METRIC_OF_MEAN(m->sums[0] / m->sums[1]) : (double)NAN;
}

static tutti_status metric_open(const tutti_host *host, const tutti_params *params,
                                void **ret_self, tutti_error *err)
{
    metric *m = (metric *)calloc(1, sizeof *m);
    if (!m)
        return tutti_fail(err, TUTTI_E_NOMEM, METRIC_NAME ": no memory");
    m->k = tutti_param_find(params, "k") ? tutti_param_i64(params, "k") : 1;
    m->ignores = tutti_param_is_set(params, "ignore_index");
    m->ignore_index = tutti_param_i64(params, "ignore_index");
    m->table.struct_size = (uint32_t)sizeof m->table;
    m->table.nsums = 2;
    m->table.sums = m->sums;
    m->table.name = METRIC_NAME;
    m->table.reset = metric_reset;
    m->table.update = metric_update;
    m->table.compute = metric_compute;
    *ret_self = m;
    return TUTTI_OK;
}

static tutti_status metric_close(void *self, tutti_error *err)
{
    free(self);
    return TUTTI_OK;
}

static const void *metric_query(void *self, const char *interface_id)
{
    return strcmp(interface_id, TUTTI_METRIC_V1) == 0 ? &((const metric *)self)->table : NULL;
}

static const tutti_calls metric_calls = {.struct_size = (uint32_t)sizeof metric_calls,
                                         .open = metric_open,
                                         .close = metric_close,
                                         .query = metric_query};
static const tutti_object metric_object =
    TUTTI_OBJECT_INIT(METRIC_NAME, TUTTI_KIND_METRIC, &metric_calls);
static const tutti_object *const metric_objects[] = {&metric_object, NULL};
static const tutti_plugin metric_plugin =
    TUTTI_PLUGIN_INIT("org.tutti." METRIC_NAME, "1.0.0", metric_objects);

const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)
{
    return &metric_plugin;
}

#endif
