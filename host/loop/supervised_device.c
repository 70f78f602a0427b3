/* supervised_device.c - batches on their way to a device, outputs on their way to metrics. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "loop/supervised_internal.h"

#include <math.h>
#include <stdlib.h>

static bool is_reached(const tutti_device *d, const tutti_tensor *t)
{
    return t->device == d->number; /* the host's memory, where the device shares it */
}

tutti_status tutti_supervised_move(tutti_supervised *s, uint32_t slot, const tutti_tensor *t,
                                   const tutti_tensor **ret_tensor, tutti_error *err)
{
    const tutti_device *d = s->options.device;
    if (slot >= TUTTI_SUPERVISED_SLOTS)
        return tutti_fail(err, TUTTI_E_RANGE, "there is no slot %u, want 0 to %d", slot,
                          TUTTI_SUPERVISED_SLOTS - 1);
    if (!d || is_reached(d, t)) {
        *ret_tensor = t;
        return TUTTI_OK;
    }
    moved *m = &s->on_device[slot];
    const uint64_t bytes = tutti_nbytes(&t->desc);
    tutti_status e = TUTTI_OK;
    if (!m->tensor.data || bytes > m->capacity) {
        void *memory = NULL;
        if ((e = d->table->alloc(d->device, bytes, &memory, err)))
            return e;
        d->table->release(d->device, m->tensor.data);
        m->tensor.data = memory;
        m->capacity = bytes;
    }
    e = d->table->copy(
        d->device, NULL, m->tensor.data, t->data, bytes,
        TUTTI_COPY_TO_DEVICE | (s->options.non_blocking ? TUTTI_COPY_NON_BLOCKING : 0), err);
    if (e)
        return e;
    m->tensor.desc = t->desc;
    m->tensor.device = d->number;
    *ret_tensor = &m->tensor;
    return TUTTI_OK;
}

tutti_status supervised_move_pair(tutti_supervised *s, void *const *batch, void **ret_x,
                                  void **ret_y, tutti_error *err)
{
    void **ret[2] = {ret_x, ret_y};
    for (uint32_t k = 0; k < 2; k++) {
        const tutti_tensor *on_device = NULL;
        const tutti_status e = tutti_supervised_move(s, k, batch[k], &on_device, err);
        if (e)
            return e;
        *ret[k] = (void *)(uintptr_t)on_device;
    }
    return TUTTI_OK;
}

tutti_status supervised_step_device(tutti_supervised *s, tutti_error *err)
{
    const tutti_device *d = s->options.device;
    return d->table->step ? d->table->step(d->device, err)
                          : d->table->synchronise(d->device, NULL, err);
}

/* ---- metrics ---- */

static tutti_status to_host(tutti_supervised *s, moved *m, const tutti_tensor *t,
                            tutti_tensor *ret_tensor, tutti_error *err)
{
    const tutti_device *d = s->options.device;
    *ret_tensor = *t;
    if (!d || t->device == TUTTI_DEVICE_CPU)
        return TUTTI_OK;
    const uint64_t bytes = tutti_nbytes(&t->desc);
    if (!m->tensor.data || bytes > m->capacity) {
        void *memory = malloc(bytes + 1);
        if (!memory)
            return tutti_fail(err, TUTTI_E_NOMEM, "no memory for a metric's %llu bytes",
                              (unsigned long long)bytes);
        free(m->tensor.data);
        m->tensor.data = memory;
        m->capacity = bytes;
    }
    ret_tensor->data = m->tensor.data;
    ret_tensor->device = TUTTI_DEVICE_CPU;
    return d->table->copy(d->device, NULL, m->tensor.data, t->data, bytes,
                          TUTTI_COPY_FROM_DEVICE, err);
}

static tutti_status update_metric(tutti_loop *l, const tutti_loop_firing *f, void *ctx,
                                  tutti_error *err)
{
    attached *a = ctx;
    tutti_supervised *s = a->owner;
    const tutti_device *d = s->options.device;
    void *const *pair = tutti_loop_get_state(l)->output;
    tutti_tensor on_host[2];
    if (!pair || !pair[0] || !pair[1])
        return tutti_fail(err, TUTTI_E_ARG, "metric %s: the output is no pair of y_pred and y",
                          a->metric.name);
    tutti_status e = TUTTI_OK;
    if (d && tutti_device_is_host(d) && d->info.flags & TUTTI_DEVICE_ASYNC)
        e = d->table->synchronise(d->device, NULL, err);
    for (int k = 0; k < 2 && !e; k++)
        e = to_host(s, &s->on_host[k], pair[k], &on_host[k], err);
    if (e)
        return e;
    const tutti_metric_input in = {.struct_size = sizeof in,
                                   .noutputs = 1,
                                   .outputs = &on_host[0],
                                   .targets = &on_host[1],
                                   .ntargets = 1,
                                   .loss = (double)NAN,
                                   .samples =
                                       on_host[0].desc.rank ? on_host[0].desc.dim[0] : 1};
    return a->metric.table->update(a->metric.self, &in, err);
}

static tutti_status reset_metric(tutti_loop *l, const tutti_loop_firing *f, void *ctx,
                                 tutti_error *err)
{
    const attached *a = ctx;
    a->metric.table->reset(a->metric.self);
    return TUTTI_OK;
}

static tutti_status publish_metric(tutti_loop *l, const tutti_loop_firing *f, void *ctx,
                                   tutti_error *err)
{
    const attached *a = ctx;
    return tutti_loop_set_metric(l, a->metric.name, a->metric.table->compute(a->metric.self),
                                 err);
}

tutti_status supervised_attach_metrics(tutti_supervised *s, tutti_error *err)
{
    static const struct {
        int32_t event;
        tutti_loop_handler handler;
    } usage[] = {{TUTTI_EVENT_EPOCH_STARTED, reset_metric},
                 {TUTTI_EVENT_ITERATION_COMPLETED, update_metric},
                 {TUTTI_EVENT_EPOCH_COMPLETED, publish_metric}};
    const uint32_t n = s->options.nmetrics;
    tutti_status e = TUTTI_OK;
    s->metrics = calloc((size_t)n + 1, sizeof *s->metrics);
    if (!s->metrics)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for metrics");
    for (uint32_t k = 0; k < n && !e; k++) {
        s->metrics[k] = (attached){s, s->options.metrics[k]};
        for (size_t u = 0; u < sizeof usage / sizeof *usage && !e; u++)
            e = tutti_loop_on(s->loop, usage[u].event, usage[u].handler, &s->metrics[k], err);
    }
    return e;
}

void supervised_free_buffers(tutti_supervised *s)
{
    const tutti_device *d = s->options.device;
    for (uint32_t k = 0; d && k < TUTTI_SUPERVISED_SLOTS; k++)
        d->table->release(d->device, s->on_device[k].tensor.data);
    for (uint32_t k = 0; k < 2; k++)
        free(s->on_host[k].tensor.data);
    free(s->metrics);
}
