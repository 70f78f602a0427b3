/* async_metrics.c - async metrics: losses and metrics of steps that the device has not finished yet. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/step/async_metrics.h"

#include "graph/runtime/device_memory.h"
#include "tutti_internal/scaler.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { POLL_US = 50, POLLS = 20000 };

static async_step *current(async_metrics *a)
{
    return &a->steps[a->next % ASYNC_STEPS];
}

static void part_fini(async_microbatch *p, const tutti_device *d)
{
    device_free_pinned(d, p->losses);
    for (int k = 0; k < ASYNC_TENSORS; k++)
        device_free_pinned(d, p->tensors[k].data);
}

static tutti_status fit(const tutti_device *d, async_step *l, uint32_t count, tutti_error *err)
{
    if (!l->done) {
        const tutti_status s = d->table->event_create(d->device, &l->done, err);
        if (s)
            return s;
        l->scaler = device_alloc_pinned(d, TUTTI_SCALER_NUMBERS * sizeof *l->scaler);
        if (!l->scaler)
            return tutti_fail(err, TUTTI_E_NOMEM, "no memory for the loss scale");
    }
    if (count <= l->capacity)
        return TUTTI_OK;
    async_microbatch *parts = realloc(l->parts, count * sizeof *parts);
    if (parts)
        l->parts = parts;
    for (; parts && l->capacity < count; l->capacity++) {
        parts[l->capacity] =
            (async_microbatch){.losses = device_alloc_pinned(d, 2 * sizeof(float))};
        if (!parts[l->capacity].losses)
            break;
    }
    return l->capacity == count
               ? TUTTI_OK
               : tutti_fail(err, TUTTI_E_NOMEM, "no memory for the losses of %u microbatches",
                            count);
}

/* Copies `from`, here or on the device, to place k of a part. */
static tutti_status fetch(const tutti_device *d, async_microbatch *p, int k,
                          const tutti_tensor *from, tutti_error *err)
{
    const uint64_t bytes = tutti_nbytes(&from->desc);
    tutti_tensor *to = &p->tensors[k];
    if (!to->data || bytes > p->capacity[k]) { /* no copy to the old memory is under way */
        device_free_pinned(d, to->data);
        to->data = device_alloc_pinned(d, bytes);
        p->capacity[k] = bytes;
    }
    if (!to->data)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for %llu bytes that metrics look at",
                          (unsigned long long)bytes);
    *to = (tutti_tensor){to->data, from->desc, TUTTI_DEVICE_CPU, 0};
    if (from->device != TUTTI_DEVICE_CPU)
        return d->table->copy(d->device, NULL, to->data, from->data, bytes,
                              TUTTI_COPY_FROM_DEVICE | TUTTI_COPY_NON_BLOCKING, err);
    if (bytes)
        memcpy(to->data, from->data, bytes);
    return TUTTI_OK;
}

/* Waits for the device, without draining what was asked of it since. */
static tutti_status wait_for_step(const tutti_device *d, const async_step *l, tutti_error *err)
{
    const struct timespec pause = {0, POLL_US * 1000};
    int32_t done = d->table->event_done(d->device, l->done);
    for (int k = 0; done == 0 && k < POLLS; k++) {
        (void)nanosleep(&pause, NULL);
        done = d->table->event_done(d->device, l->done);
    }
    return done == 1 ? TUTTI_OK : d->table->synchronise(d->device, NULL, err);
}

static tutti_status measure(async_metrics *a, const async_step *l, tutti_error *err)
{
    metric_set *m = a->metrics;
    tutti_status s = TUTTI_OK;
    metric_set_reset(m);
    for (uint32_t k = 0; k < l->counts[l->last] && !s; k++) {
        const async_microbatch *p = &l->parts[k];
        const tutti_metric_input in = {.struct_size = sizeof in,
                                       .noutputs = p->noutputs,
                                       .outputs = p->tensors,
                                       .targets = p->tensors + STEP_OUTPUTS,
                                       .ntargets = p->ntargets,
                                       .loss = (double)p->losses[l->last],
                                       .samples = p->samples};
        s = metric_set_update(m, &in, err);
    }
    if (!s)
        metric_set_log(&a->run->log, m, "train", l->batch);
    return s;
}

static double sum(const async_step *l, uint32_t evaluation)
{
    double loss = 0.0;
    for (uint32_t k = 0; k < l->counts[evaluation]; k++)
        loss += l->parts[k].weights[evaluation] * (double)l->parts[k].losses[evaluation];
    return loss;
}

/* The oldest step that is under way is over. */
static tutti_status deliver(async_metrics *a, tutti_error *err)
{
    const async_step *l = &a->steps[a->first++ % ASYNC_STEPS];
    const tutti_named_value v = {"loss/train/total", sum(l, 0)};
    if (l->scaled)
        scaler_count(a->scaler, l->batch, l->scaler[TUTTI_SCALER_SKIPPED] != 0.0,
                     l->scaler[TUTTI_SCALER_SCALE]);
    run_log_metrics_at(&a->run->log, &v, 1, l->batch);
    tutti_status s = guard_loss(a->guard, v.value, l->batch, err);
    if (s || (l->scaled && (s = guard_update(a->guard, err))))
        return s;
    return l->measured ? measure(a, l, err) : TUTTI_OK;
}

tutti_status async_begin(async_metrics *a, uint32_t microbatches, bool first, bool measured,
                         tutti_error *err)
{
    const uint64_t ahead = measured ? ASYNC_MEASURED : ASYNC_STEPS;
    while (a->next - a->first >= ahead) {
        tutti_status s =
            wait_for_step(context_device(a->run), &a->steps[a->first % ASYNC_STEPS], err);
        if (s || (s = deliver(a, err)))
            return s;
    }
    async_step *l = current(a);
    l->last = !first;
    l->counts[l->last] = 0;
    l->measured = measured;
    return fit(context_device(a->run), l, microbatches, err);
}

tutti_status async_targets(async_metrics *a, tutti_error *err)
{
    async_step *l = current(a);
    async_microbatch *p = &l->parts[l->counts[l->last]];
    const char *const *names = a->run->model_table->targets;
    tutti_status s = TUTTI_OK;
    for (p->ntargets = 0; names[p->ntargets] && p->ntargets < TUTTI_MAX_COLUMNS && !s;
         p->ntargets++)
        s = fetch(context_device(a->run), p, STEP_OUTPUTS + (int)p->ntargets,
                  &batch_find(&a->tensors->micro, names[p->ntargets])->now, err);
    return s;
}

tutti_status async_loss(async_metrics *a, double weight, tutti_error *err)
{
    const tutti_device *d = context_device(a->run);
    async_step *l = current(a);
    async_microbatch *p = &l->parts[l->counts[l->last]++];
    const tutti_status s =
        d->table->copy(d->device, NULL, p->losses + l->last, a->tensors->loss.now.data,
                       sizeof(float), TUTTI_COPY_FROM_DEVICE | TUTTI_COPY_NON_BLOCKING, err);
    p->weights[l->last] = weight;
    p->samples = a->tensors->micro.samples;
    return s;
}

tutti_status async_outputs(async_metrics *a, tutti_error *err)
{
    async_step *l = current(a);
    async_microbatch *p = &l->parts[l->counts[l->last] - 1];
    tutti_status s = TUTTI_OK;
    p->noutputs = a->tensors->noutputs;
    for (uint32_t k = 0; k < p->noutputs && !s; k++)
        s = fetch(context_device(a->run), p, (int)k, &a->tensors->outputs[k].now, err);
    return s;
}

tutti_status async_sum(async_metrics *a, double *ret_loss, tutti_error *err)
{
    const tutti_device *d = context_device(a->run);
    const tutti_status s = d->table->synchronise(d->device, NULL, err);
    *ret_loss = s ? 0.0 : sum(current(a), current(a)->last);
    return s;
}

tutti_status async_end(async_metrics *a, tutti_error *err)
{
    const tutti_device *d = context_device(a->run);
    async_step *l = current(a);
    tutti_status s = TUTTI_OK;
    l->scaled = a->scaler->on && a->scalars->on;
    if (l->scaled)
        s = d->table->copy(d->device, NULL, l->scaler, a->scalars->scaler,
                           TUTTI_SCALER_NUMBERS * sizeof *l->scaler,
                           TUTTI_COPY_FROM_DEVICE | TUTTI_COPY_NON_BLOCKING, err);
    if (s || (s = d->table->event_record(d->device, l->done, NULL, err)))
        return s;
    l->batch = (uint64_t)a->run->clock.now.batch;
    a->next++;
    return async_poll(a, err);
}

tutti_status async_poll(async_metrics *a, tutti_error *err)
{
    const tutti_device *d = context_device(a->run);
    while (a->first < a->next) {
        const async_step *l = &a->steps[a->first % ASYNC_STEPS];
        const int32_t done = d->table->event_done(d->device, l->done);
        tutti_status s = TUTTI_OK;
        if (done == 0)
            return TUTTI_OK;
        if (done < 0)
            s = d->table->synchronise(d->device, NULL, err);
        if (s || (s = deliver(a, err)))
            return s;
    }
    return TUTTI_OK;
}

tutti_status async_flush(async_metrics *a, tutti_error *err)
{
    if (a->first == a->next)
        return TUTTI_OK;
    const tutti_device *d = context_device(a->run);
    tutti_status s = d->table->synchronise(d->device, NULL, err);
    while (!s && a->first < a->next)
        s = deliver(a, err);
    return s;
}

void async_fini(async_metrics *a)
{
    const tutti_device *d = context_device(a->run);
    for (uint32_t k = 0; k < ASYNC_STEPS; k++) {
        async_step *l = &a->steps[k];
        if (l->done)
            (void)d->table->synchronise(d->device, NULL, NULL);
        for (uint32_t j = 0; j < l->capacity; j++)
            part_fini(&l->parts[j], d);
        free(l->parts);
        device_free_pinned(d, l->scaler);
        if (l->done)
            d->table->event_destroy(d->device, l->done);
    }
    memset(a, 0, sizeof *a);
}
