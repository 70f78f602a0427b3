/* plugin.c - mean_output: the mean of all numbers of the model's first output. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tutti/metric.h"
#include "tutti/tutti.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct mean {
    tutti_metric_v1 table; /* of this instance, because its sums are */
    double sums[2];        /* of the numbers, and how many */
} mean;

static void mean_output_reset(void *self)
{
    mean *m = self;
    m->sums[0] = m->sums[1] = 0;
}

static tutti_status mean_output_update(void *self, const tutti_metric_input *in,
                                       tutti_error *err)
{
    mean *m = self;
    char text[96];
    if (!in->noutputs || in->outputs[0].desc.dtype != TUTTI_F32)
        return tutti_fail(err, TUTTI_E_ARG, "mean_output: the output is %s, want F32",
                          in->noutputs
                              ? tutti_desc_text(&in->outputs[0].desc, text, sizeof text)
                              : "missing");
    const float *x = in->outputs[0].data;
    const int64_t n = tutti_numel(&in->outputs[0].desc);
    for (int64_t k = 0; k < n; k++)
        m->sums[0] += (double)x[k];
    m->sums[1] += (double)n;
    return TUTTI_OK;
}

static double mean_output_compute(void *self)
{
    const mean *m = self;
    return m->sums[1] > 0 ? m->sums[0] / m->sums[1] : (double)NAN;
}

static tutti_status mean_output_open(const tutti_host *host, const tutti_params *params,
                                     void **ret_self, tutti_error *err)
{
    (void)host;
    (void)params;
    mean *m = calloc(1, sizeof *m);
    if (!m)
        return tutti_fail(err, TUTTI_E_NOMEM, "mean_output: no memory");
    m->table = (tutti_metric_v1){.struct_size = sizeof m->table,
                                 .nsums = 2,
                                 .sums = m->sums,
                                 .name = "mean_output",
                                 .reset = mean_output_reset,
                                 .update = mean_output_update,
                                 .compute = mean_output_compute};
    *ret_self = m;
    return TUTTI_OK;
}

static tutti_status mean_output_close(void *self, tutti_error *err)
{
    (void)err;
    free(self);
    return TUTTI_OK;
}

static const void *mean_output_query(void *self, const char *interface_id)
{
    const mean *m = self;
    return strcmp(interface_id, TUTTI_METRIC_V1) == 0 ? &m->table : NULL;
}

static const tutti_calls calls = {.struct_size = sizeof calls,
                                  .open = mean_output_open,
                                  .close = mean_output_close,
                                  .query = mean_output_query};
static const tutti_object object = TUTTI_OBJECT_INIT("mean_output", TUTTI_KIND_METRIC, &calls);
static const tutti_object *const objects[] = {&object, NULL};
static const tutti_plugin plugin =
    TUTTI_PLUGIN_INIT("org.example.mean_output", "1.0.0", objects);

const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)
{
    (void)host_abi;
    return &plugin;
}
