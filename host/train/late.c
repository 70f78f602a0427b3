/* late.c - losses of steps that the device may not have done yet: read and logged when it has. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/place.h"
#include "train/trainer_internal.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { POLL_US = 50, POLLS = 20000 };

static late_loss *current(late_losses *l)
{
    return &l->steps[l->next % LATE_STEPS];
}

static tutti_status fit(const tutti_device *d, late_loss *l, uint32_t count, tutti_error *err)
{
    if (!l->done) {
        const tutti_status s = d->table->event_create(d->device, &l->done, err);
        if (s)
            return s;
    }
    if (count <= l->room)
        return TUTTI_OK;
    float *values = place_take_pinned(d, count * sizeof *values);
    double *weights = calloc(count, sizeof *weights);
    if (!values || !weights) {
        place_give_pinned(d, values);
        free(weights);
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for the losses of %u microbatches",
                          count);
    }
    place_give_pinned(d, l->values);
    free(l->weights);
    l->values = values;
    l->weights = weights;
    l->room = count;
    return TUTTI_OK;
}

/* Waits for the device, without draining what was asked of it since. */
static tutti_status wait(const tutti_device *d, const late_loss *l, tutti_error *err)
{
    const struct timespec pause = {0, POLL_US * 1000};
    int32_t done = d->table->event_done(d->device, l->done);
    for (int k = 0; done == 0 && k < POLLS; k++) {
        (void)nanosleep(&pause, NULL);
        done = d->table->event_done(d->device, l->done);
    }
    return done == 1 ? TUTTI_OK : d->table->synchronise(d->device, NULL, err);
}

static void deliver(trainer *t, late_loss *l)
{
    double sum = 0.0;
    for (uint32_t k = 0; k < l->count; k++)
        sum += l->weights[k] * (double)l->values[k];
    const tutti_named_value v = {"loss/train/total", sum};
    trainer_log_at(t, &v, 1, l->batch);
}

tutti_status late_begin(trainer *t, uint32_t microbatches, tutti_error *err)
{
    late_losses *all = &t->late;
    if (all->next - all->first == LATE_STEPS) {
        late_loss *oldest = &all->steps[all->first % LATE_STEPS];
        const tutti_status s = wait(trainer_device(t), oldest, err);
        if (s)
            return s;
        all->first++;
        deliver(t, oldest);
    }
    current(all)->count = 0;
    return fit(trainer_device(t), current(all), microbatches, err);
}

tutti_status late_note(trainer *t, double weight, const void *loss, tutti_error *err)
{
    const tutti_device *d = trainer_device(t);
    late_loss *l = current(&t->late);
    l->weights[l->count] = weight;
    return d->table->copy(d->device, NULL, &l->values[l->count++], loss, sizeof(float),
                          TUTTI_COPY_FROM_DEVICE | TUTTI_COPY_NON_BLOCKING, err);
}

tutti_status late_sum(trainer *t, double *ret_loss, tutti_error *err)
{
    const tutti_device *d = trainer_device(t);
    const late_loss *l = current(&t->late);
    const tutti_status s = d->table->synchronise(d->device, NULL, err);
    *ret_loss = 0.0;
    for (uint32_t k = 0; k < l->count && !s; k++)
        *ret_loss += l->weights[k] * (double)l->values[k];
    return s;
}

tutti_status late_end(trainer *t, tutti_error *err)
{
    const tutti_device *d = trainer_device(t);
    late_losses *all = &t->late;
    late_loss *l = current(all);
    const tutti_status s = d->table->event_record(d->device, l->done, NULL, err);
    if (s)
        return s;
    l->batch = (uint64_t)t->time.batch;
    all->next++;
    return late_poll(t, err);
}

tutti_status late_poll(trainer *t, tutti_error *err)
{
    const tutti_device *d = trainer_device(t);
    late_losses *all = &t->late;
    for (; all->first < all->next; all->first++) {
        late_loss *l = &all->steps[all->first % LATE_STEPS];
        const int32_t done = d->table->event_done(d->device, l->done);
        if (done == 0)
            return TUTTI_OK;
        const tutti_status s =
            done < 0 ? d->table->synchronise(d->device, NULL, err) : TUTTI_OK;
        if (s)
            return s;
        deliver(t, l);
    }
    return TUTTI_OK;
}

tutti_status late_flush(trainer *t, tutti_error *err)
{
    late_losses *all = &t->late;
    if (all->first == all->next)
        return TUTTI_OK;
    const tutti_device *d = trainer_device(t);
    const tutti_status s = d->table->synchronise(d->device, NULL, err);
    while (!s && all->first < all->next)
        deliver(t, &all->steps[all->first++ % LATE_STEPS]);
    return s;
}

void late_fini(late_losses *all, const tutti_device *d)
{
    for (uint32_t k = 0; k < LATE_STEPS; k++) {
        late_loss *l = &all->steps[k];
        if (l->done)
            (void)d->table->synchronise(d->device, NULL, NULL);
        place_give_pinned(d, l->values);
        free(l->weights);
        if (l->done)
            d->table->event_destroy(d->device, l->done);
    }
    memset(all, 0, sizeof *all);
}
