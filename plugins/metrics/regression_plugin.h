/* regression_plugin.h - the shell of a metric plugin over pairs of numbers, one of the output and one of the target.
 * The including file defines METRIC_NAME, the object's name, and REGRESSION_SUMS, how many sums an output has, first;
 * regression_add and regression_value after. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REGRESSION_PLUGIN_H
#define REGRESSION_PLUGIN_H

#include "refusal.h"
#include "tutti/metric.h"
#include "tutti/tutti.h"

#include <math.h>
#include <stdlib.h>

typedef struct regression {
    tutti_metric_v1 table;
    double *sums;    /* REGRESSION_SUMS of each output, one output after the other */
    int64_t outputs; /* num_outputs; 1 where all numbers count alike */
    int64_t adjusted;
    int32_t choice; /* the metric's enum or bool */
    int32_t reserved;
} regression;

/* The plugin's own: adds one pair to the sums of its output; the metric, NaN where nothing was added. */
static void regression_add(double *sums, double x, double y);
static double regression_value(const regression *m);

static inline tutti_status regression_check(const regression *m, const tutti_metric_input *in,
                                            tutti_error *err)
{
    char a[96];
    if (in->noutputs < 1 || in->ntargets < 1)
        return tutti_fail(err, TUTTI_E_ARG,
                          METRIC_NAME ": got %u outputs and %u targets, want one of each",
                          in->noutputs, in->ntargets);
    const tutti_tensor *x = &in->outputs[0], *y = &in->targets[0];
    const int64_t n = tutti_numel(&x->desc), rows = x->desc.rank ? x->desc.dim[0] : 1;
    if (x->device != TUTTI_DEVICE_CPU || y->device != TUTTI_DEVICE_CPU)
        return tutti_fail(err, TUTTI_E_UNSUPPORTED,
                          METRIC_NAME ": outputs or targets are not in the host's memory");
    if (x->desc.dtype != TUTTI_F32 || !metric_is_number(y->desc.dtype) ||
        !shapes_pair(&x->desc, &y->desc))
        return metric_refuse(METRIC_NAME, "F32 and numbers of one shape", in, err);
    if (m->outputs > 1 && n != rows * m->outputs)
        return tutti_fail(err, TUTTI_E_SHAPE,
                          METRIC_NAME ": outputs are %s, num_outputs is %lld",
                          tutti_desc_text(&x->desc, a, sizeof a), (long long)m->outputs);
    return TUTTI_OK;
}

static tutti_status regression_update(void *self, const tutti_metric_input *in,
                                      tutti_error *err)
{
    const regression *m = (const regression *)self;
    const tutti_status status = regression_check(m, in, err);
    if (status != TUTTI_OK)
        return status;
    for (int64_t k = 0, n = tutti_numel(&in->outputs[0].desc); k < n; k++)
        regression_add(m->sums + k % m->outputs * REGRESSION_SUMS,
                       metric_number(&in->outputs[0], k), metric_number(&in->targets[0], k));
    return TUTTI_OK;
}

static void regression_reset(void *self)
{
    const regression *m = (const regression *)self;
    memset(m->sums, 0, (size_t)(m->outputs * REGRESSION_SUMS) * sizeof *m->sums);
}

static double regression_compute(void *self)
{
    return regression_value((const regression *)self);
}

static tutti_status regression_close(void *self, tutti_error *err)
{
    regression *m = (regression *)self;
    (void)err;
    free(m->sums);
    free(m);
    return TUTTI_OK;
}

static tutti_status regression_open(const tutti_host *host, const tutti_params *params,
                                    void **ret_self, tutti_error *err)
{
    regression *m = (regression *)calloc(1, sizeof *m);
    (void)host;
    if (m) {
        const int64_t outputs = tutti_param_i64(params, "num_outputs");
        m->outputs = outputs > 1 ? outputs : 1;
        m->sums = (double *)calloc((size_t)(m->outputs * REGRESSION_SUMS), sizeof *m->sums);
    }
    if (!m || !m->sums) {
        free(m);
        return tutti_fail(err, TUTTI_E_NOMEM, METRIC_NAME ": no memory");
    }
    m->adjusted = tutti_param_i64(params, "adjusted");
    m->choice = (int32_t)(tutti_param_find(params, "multioutput")
                              ? tutti_param_i64(params, "multioutput")
                              : tutti_param_i64(params, "squared"));
    m->table.struct_size = (uint32_t)sizeof m->table;
    m->table.nsums = (uint32_t)(m->outputs * REGRESSION_SUMS);
    m->table.sums = m->sums;
    m->table.name = METRIC_NAME;
    m->table.reset = regression_reset;
    m->table.update = regression_update;
    m->table.compute = regression_compute;
    *ret_self = m;
    return TUTTI_OK;
}

static const void *regression_query(void *self, const char *interface_id)
{
    return strcmp(interface_id, TUTTI_METRIC_V1) == 0 ? &((const regression *)self)->table
                                                      : NULL;
}

TUTTI_PLUGIN_OF_ONE("org.tutti." METRIC_NAME, "1.0.0", METRIC_NAME, TUTTI_KIND_METRIC,
                    .open = regression_open, .close = regression_close,
                    .query = regression_query);

#endif
