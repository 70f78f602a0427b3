/* labels_update.h - several labels a sample: logits (B, ..., K) and targets of 0 and 1; for labels_plugin.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LABELS_UPDATE_H
#define LABELS_UPDATE_H

#include "labels_plugin.h"
#include "refusal.h"

#include <stdio.h>

static inline float labels_sigmoid(float x)
{
    return 1.0f / (1.0f + expf(-x));
}

static inline tutti_status labels_check(const labels *m, const tutti_metric_input *in,
                                        tutti_error *err)
{
    char want[64];
    if (in->noutputs < 1 || in->ntargets < 1)
        return tutti_fail(err, TUTTI_E_ARG,
                          METRIC_NAME ": got %u outputs and %u targets, want one of each",
                          in->noutputs, in->ntargets);
    const tutti_tensor *x = &in->outputs[0], *y = &in->targets[0];
    if (x->device != TUTTI_DEVICE_CPU || y->device != TUTTI_DEVICE_CPU)
        return tutti_fail(err, TUTTI_E_UNSUPPORTED,
                          METRIC_NAME ": outputs or targets are not in the host's memory");
    tutti_desc d = y->desc;
    d.dtype = x->desc.dtype;
    if (x->desc.dtype != TUTTI_F32 || !metric_is_number(y->desc.dtype) ||
        !tutti_same_shape(&x->desc, &d) || d.rank < 2 || d.dim[d.rank - 1] != m->count) {
        (void)snprintf(want, sizeof want, "F32 (B, %lld) and numbers of that shape",
                       (long long)m->count);
        return metric_refuse(METRIC_NAME, want, in, err);
    }
    for (int64_t k = 0, n = tutti_numel(&d); k < n; k++) {
        const double value = metric_number(y, k);
        if (value != 0.0 && value != 1.0 && !(m->ignores && value == (double)m->ignored))
            return tutti_fail(err, TUTTI_E_RANGE,
                              METRIC_NAME ": target %lld is %g, want 0 or 1", (long long)k,
                              value);
    }
    return TUTTI_OK;
}

static tutti_status labels_update(void *self, const tutti_metric_input *in, tutti_error *err)
{
    const labels *m = (const labels *)self;
    const tutti_status status = labels_check(m, in, err);
    if (status != TUTTI_OK)
        return status;
    const float *x = (const float *)in->outputs[0].data;
    for (int64_t k = 0, n = tutti_numel(&in->outputs[0].desc); k < n; k++) {
        const double y = metric_number(&in->targets[0], k);
        if (y == 0.0 || y == 1.0)
            labels_add(m, m->sums + k % m->count * m->each, labels_sigmoid(x[k]), y == 1.0);
    }
    return TUTTI_OK;
}

#endif
