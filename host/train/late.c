/* late.c - losses and metrics of steps that the device may not have done yet: read when it has. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/place.h"
#include "train/trainer_internal.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { POLL_US = 50, POLLS = 20000 };

static late_step *current(late_steps *l)
{
    return &l->steps[l->next % LATE_STEPS];
}

static void part_fini(late_part *p, const tutti_device *d)
{
    place_give_pinned(d, p->losses);
    for (int k = 0; k < LATE_TENSORS; k++)
        place_give_pinned(d, p->tensors[k].data);
}

static tutti_status fit(const tutti_device *d, late_step *l, uint32_t count, tutti_error *err)
{
    if (!l->done) {
        const tutti_status s = d->table->event_create(d->device, &l->done, err);
        if (s)
            return s;
        l->scaler = place_take_pinned(d, TUTTI_SCALER_NUMBERS * sizeof *l->scaler);
        if (!l->scaler)
            return tutti_fail(err, TUTTI_E_NOMEM, "no memory for the loss scale");
    }
    if (count <= l->room)
        return TUTTI_OK;
    late_part *parts = realloc(l->parts, count * sizeof *parts);
    if (parts)
        l->parts = parts;
    for (; parts && l->room < count; l->room++) {
        parts[l->room] = (late_part){.losses = place_take_pinned(d, 2 * sizeof(float))};
        if (!parts[l->room].losses)
            break;
    }
    return l->room == count ? TUTTI_OK
                            : tutti_fail(err, TUTTI_E_NOMEM,
                                         "no memory for the losses of %u microbatches", count);
}

/* Copies `from`, here or on the device, to place k of a part. */
static tutti_status fetch(const tutti_device *d, late_part *p, int k, const tutti_tensor *from,
                          tutti_error *err)
{
    const uint64_t bytes = tutti_nbytes(&from->desc);
    tutti_tensor *to = &p->tensors[k];
    if (!to->data || bytes > p->room[k]) { /* no copy to the old memory is under way */
        place_give_pinned(d, to->data);
        to->data = place_take_pinned(d, bytes);
        p->room[k] = bytes;
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
static tutti_status wait(const tutti_device *d, const late_step *l, tutti_error *err)
{
    const struct timespec pause = {0, POLL_US * 1000};
    int32_t done = d->table->event_done(d->device, l->done);
    for (int k = 0; done == 0 && k < POLLS; k++) {
        (void)nanosleep(&pause, NULL);
        done = d->table->event_done(d->device, l->done);
    }
    return done == 1 ? TUTTI_OK : d->table->synchronise(d->device, NULL, err);
}

static tutti_status measure(trainer *t, const late_step *l, tutti_error *err)
{
    metric_set *m = &t->train.metrics;
    tutti_status s = TUTTI_OK;
    metric_set_reset(m);
    for (uint32_t k = 0; k < l->counts[l->last] && !s; k++) {
        const late_part *p = &l->parts[k];
        const tutti_metric_input in = {.struct_size = sizeof in,
                                       .noutputs = p->noutputs,
                                       .outputs = p->tensors,
                                       .targets = p->tensors + 2,
                                       .ntargets = p->ntargets,
                                       .loss = (double)p->losses[l->last],
                                       .samples = p->samples};
        s = metric_set_update(m, &in, err);
    }
    if (!s)
        metric_set_log(t, m, "train", l->batch);
    return s;
}

static double sum(const late_step *l, uint32_t evaluation)
{
    double loss = 0.0;
    for (uint32_t k = 0; k < l->counts[evaluation]; k++)
        loss += l->parts[k].weights[evaluation] * (double)l->parts[k].losses[evaluation];
    return loss;
}

/* The oldest step that is under way is over. */
static tutti_status deliver(trainer *t, tutti_error *err)
{
    const late_step *l = &t->late.steps[t->late.first++ % LATE_STEPS];
    const tutti_named_value v = {"loss/train/total", sum(l, 0)};
    if (l->scaled && l->scaler[TUTTI_SCALER_SKIPPED] != 0.0)
        scaler_tell(t, l->batch, l->scaler[TUTTI_SCALER_SCALE]);
    trainer_log_at(t, &v, 1, l->batch);
    return l->measured ? measure(t, l, err) : TUTTI_OK;
}

tutti_status late_begin(trainer *t, uint32_t microbatches, bool first, bool measured,
                        tutti_error *err)
{
    late_steps *all = &t->late;
    const uint64_t ahead = measured ? LATE_MEASURED : LATE_STEPS;
    while (all->next - all->first >= ahead) {
        tutti_status s = wait(trainer_device(t), &all->steps[all->first % LATE_STEPS], err);
        if (s || (s = deliver(t, err)))
            return s;
    }
    late_step *l = current(all);
    l->last = !first;
    l->counts[l->last] = 0;
    l->measured = measured;
    return fit(trainer_device(t), l, microbatches, err);
}

tutti_status late_targets(trainer *t, tutti_error *err)
{
    late_step *l = current(&t->late);
    late_part *p = &l->parts[l->counts[l->last]];
    const char *const *names = t->model_table->targets;
    tutti_status s = TUTTI_OK;
    for (p->ntargets = 0; names[p->ntargets] && p->ntargets < TUTTI_MAX_COLUMNS && !s;
         p->ntargets++)
        s = fetch(trainer_device(t), p, 2 + (int)p->ntargets,
                  &batch_find(&t->micro, names[p->ntargets])->now, err);
    return s;
}

tutti_status late_note(trainer *t, double weight, tutti_error *err)
{
    const tutti_device *d = trainer_device(t);
    late_step *l = current(&t->late);
    late_part *p = &l->parts[l->counts[l->last]++];
    const tutti_status s =
        d->table->copy(d->device, NULL, p->losses + l->last, t->loss.now.data, sizeof(float),
                       TUTTI_COPY_FROM_DEVICE | TUTTI_COPY_NON_BLOCKING, err);
    p->weights[l->last] = weight;
    p->samples = t->micro.samples;
    return s;
}

tutti_status late_outputs(trainer *t, tutti_error *err)
{
    late_step *l = current(&t->late);
    late_part *p = &l->parts[l->counts[l->last] - 1];
    tutti_status s = TUTTI_OK;
    p->noutputs = t->noutputs;
    for (uint32_t k = 0; k < p->noutputs && !s; k++)
        s = fetch(trainer_device(t), p, (int)k, &t->outputs[k].now, err);
    return s;
}

tutti_status late_sum(trainer *t, double *ret_loss, tutti_error *err)
{
    const tutti_device *d = trainer_device(t);
    const tutti_status s = d->table->synchronise(d->device, NULL, err);
    *ret_loss = s ? 0.0 : sum(current(&t->late), current(&t->late)->last);
    return s;
}

tutti_status late_end(trainer *t, tutti_error *err)
{
    const tutti_device *d = trainer_device(t);
    late_steps *all = &t->late;
    late_step *l = current(all);
    tutti_status s = TUTTI_OK;
    l->scaled = t->scaler.on && t->scalars.on;
    if (l->scaled)
        s = d->table->copy(d->device, NULL, l->scaler, t->scalars.scaler,
                           TUTTI_SCALER_NUMBERS * sizeof *l->scaler,
                           TUTTI_COPY_FROM_DEVICE | TUTTI_COPY_NON_BLOCKING, err);
    if (s || (s = d->table->event_record(d->device, l->done, NULL, err)))
        return s;
    l->batch = (uint64_t)t->time.batch;
    all->next++;
    return late_poll(t, err);
}

tutti_status late_poll(trainer *t, tutti_error *err)
{
    const tutti_device *d = trainer_device(t);
    late_steps *all = &t->late;
    while (all->first < all->next) {
        const late_step *l = &all->steps[all->first % LATE_STEPS];
        const int32_t done = d->table->event_done(d->device, l->done);
        tutti_status s = TUTTI_OK;
        if (done == 0)
            return TUTTI_OK;
        if (done < 0)
            s = d->table->synchronise(d->device, NULL, err);
        if (s || (s = deliver(t, err)))
            return s;
    }
    return TUTTI_OK;
}

tutti_status late_flush(trainer *t, tutti_error *err)
{
    late_steps *all = &t->late;
    if (all->first == all->next)
        return TUTTI_OK;
    const tutti_device *d = trainer_device(t);
    tutti_status s = d->table->synchronise(d->device, NULL, err);
    while (!s && all->first < all->next)
        s = deliver(t, err);
    return s;
}

void late_fini(late_steps *all, const tutti_device *d)
{
    for (uint32_t k = 0; k < LATE_STEPS; k++) {
        late_step *l = &all->steps[k];
        if (l->done)
            (void)d->table->synchronise(d->device, NULL, NULL);
        for (uint32_t j = 0; j < l->room; j++)
            part_fini(&l->parts[j], d);
        free(l->parts);
        place_give_pinned(d, l->scaler);
        if (l->done)
            d->table->event_destroy(d->device, l->done);
    }
    memset(all, 0, sizeof *all);
}
