/* metric_plugin.h - the shell of a metric plugin over logits: rows, targets, sums.  The including file
 * defines METRIC_NAME, the object's name, first and metric_row after.  It may define
 * METRIC_OF_MEAN(mean) first: what is computed from the mean of the rows. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef METRIC_PLUGIN_H
#define METRIC_PLUGIN_H

#include "metric_rows.h"

#ifndef METRIC_OF_MEAN
#define METRIC_OF_MEAN(mean) (mean)
#endif

typedef struct metric {
    tutti_metric_v1 table;
    double sums[2]; /* what is counted, and over how much */
    int64_t k;
    metric_ignored ignored;
} metric;

/* The plugin's own: what a row of logits x (classes) adds to the sums. */
static void metric_row(const metric *m, const float *x, int64_t classes, metric_target target,
                       double *sums);

static tutti_status metric_update(void *self, const tutti_metric_input *in, tutti_error *err)
{
    metric *m = (metric *)self;
    tutti_status status = metric_check(METRIC_NAME, in, err);
    if (status != TUTTI_OK)
        return status;
    const tutti_desc *d = &in->outputs[0].desc;
    const int64_t classes = d->dim[d->rank - 1], rows = tutti_numel(d) / classes;
    const float *x = (const float *)in->outputs[0].data;
    if (m->k > classes)
        return metric_refuse_k(METRIC_NAME, "k", m->k, classes, err);
    double sums[2] = {m->sums[0], m->sums[1]};
    for (int64_t r = 0; r < rows; r++) {
        metric_target target;
        int counts = 0;
        status =
            metric_read_target(METRIC_NAME, in, r, classes, m->ignored, &target, &counts, err);
        if (status != TUTTI_OK)
            return status;
        if (counts)
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
    m->ignored = metric_ignored_of(params);
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

TUTTI_PLUGIN_OF_ONE("org.tutti." METRIC_NAME, "1.0.0", METRIC_NAME, TUTTI_KIND_METRIC,
                    .open = metric_open, .close = metric_close, .query = metric_query);

#endif
