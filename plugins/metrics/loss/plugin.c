/* plugin.c - loss: the mean of what is minimised, over all samples. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tutti/metric.h"
#include "tutti/tutti.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SUM_LOSS, SUM_SAMPLES, SUMS };

typedef struct mean_loss {
    tutti_metric_v1 table;
    double sums[SUMS];
} mean_loss;

static tutti_status loss_update(void *self, const tutti_metric_input *in, tutti_error *err)
{
    mean_loss *m = self;
    if (isnan(in->loss) && in->noutputs && in->outputs[0].desc.dtype == TUTTI_I32)
        return tutti_fail(err, TUTTI_E_UNSUPPORTED,
                          "loss: texts that are generated have none; of texts bleu_score, "
                          "rouge_score or word_error_rate fits");
    m->sums[SUM_LOSS] += in->loss * (double)in->samples;
    m->sums[SUM_SAMPLES] += (double)in->samples;
    return TUTTI_OK;
}

static void loss_reset(void *self)
{
    memset(((mean_loss *)self)->sums, 0, sizeof((mean_loss *)self)->sums);
}

static double loss_compute(void *self)
{
    const mean_loss *m = self;
    return m->sums[SUM_SAMPLES] > 0.0 ? m->sums[SUM_LOSS] / m->sums[SUM_SAMPLES] : (double)NAN;
}

static tutti_status loss_open(const tutti_host *host, const tutti_params *params,
                              void **ret_self, tutti_error *err)
{
    mean_loss *m = calloc(1, sizeof *m);
    (void)host, (void)params;
    if (!m)
        return tutti_fail(err, TUTTI_E_NOMEM, "loss: no memory");
    m->table = (tutti_metric_v1){.struct_size = sizeof m->table,
                                 .nsums = SUMS,
                                 .sums = m->sums,
                                 .name = "loss",
                                 .reset = loss_reset,
                                 .update = loss_update,
                                 .compute = loss_compute};
    *ret_self = m;
    return TUTTI_OK;
}

static tutti_status loss_close(void *self, tutti_error *err)
{
    (void)err;
    free(self);
    return TUTTI_OK;
}

static const void *loss_query(void *self, const char *id)
{
    return strcmp(id, TUTTI_METRIC_V1) == 0 ? &((const mean_loss *)self)->table : NULL;
}

TUTTI_PLUGIN_OF_ONE("org.tutti.metric.loss", "1.0.0", "loss", TUTTI_KIND_METRIC,
                    .open = loss_open, .close = loss_close, .query = loss_query);
