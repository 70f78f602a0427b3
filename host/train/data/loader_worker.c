/* loader_worker.c - worker threads of a loader: samples are read, transformed and put into batches. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/data/loader_internal.h"

#include "train/data/samples.h"

#include <stdlib.h>
#include <string.h>

static int64_t batch_samples(const loader *l, int64_t batch)
{
    const int64_t left = l->orders.places - batch * l->options.batch_size;
    return left < l->options.batch_size ? left : l->options.batch_size;
}

tutti_status loader_order(loader *l, int64_t epoch, int64_t batch, int64_t *index,
                          int64_t *ret_samples, tutti_error *err)
{
    epoch_order order;
    const tutti_status s = epoch_order_acquire(&l->orders, epoch, &order, err);
    if (s)
        return s;
    const int64_t samples = batch_samples(l, batch), first = batch * l->options.batch_size;
    for (int64_t row = 0; row < samples; row++)
        index[row] = epoch_order_at(&order, first + row);
    epoch_order_release(&l->orders, &order);
    *ret_samples = samples;
    return TUTTI_OK;
}

/* ---- the work ---- */

/* Where row `row` of column `k` will lie; NULL where a sample on its way may take more room, or that is not aligned as memory of
 * transforms is. */
static void *place_of(const loader *l, const ring_slot *p, uint32_t k, int64_t row)
{
    const uint64_t bytes = tutti_nbytes(&l->columns[k].desc);
    return bytes == l->capacity[k] && bytes % LOADER_ALIGN == 0
               ? (char *)p->columns[k].data + (uint64_t)row * bytes
               : NULL;
}

/* Sample `index` as it was read: without transforms into its places. */
static tutti_status read_sample(worker *w, ring_slot *p, int64_t index, void *const *places,
                                tutti_tensor *ret_now)
{
    const loader *l = w->loader;
    for (uint32_t k = 0; k < l->info.ncolumns; k++) {
        const tutti_desc *d = &l->info.columns[k].desc;
        void *to = !l->options.ntransforms && places[k] ? places[k] : w->work[0][k];
        ret_now[k].data =
            l->resident ? (char *)l->samples[k] + (uint64_t)index * tutti_nbytes(d) : to;
        ret_now[k].desc = *d;
        ret_now[k].device = TUTTI_DEVICE_CPU;
    }
    return l->resident ? TUTTI_OK
                       : samples_read_one(l->options.dataset, l->dataset, index, ret_now,
                                          l->capacity, l->info.ncolumns, &p->error);
}

/* The last transform writes into the places. */
static tutti_status transform_sample(worker *w, ring_slot *p, const tutti_sample *sample,
                                     void *const *places, tutti_tensor *now)
{
    loader *l = w->loader;
    tutti_tensor before[TUTTI_MAX_COLUMNS];
    tutti_sample of = *sample;
    int side[TUTTI_MAX_COLUMNS] = {0};
    of.columns = before;
    for (uint32_t t = 0; t < l->options.ntransforms; t++) {
        instance *transform = l->options.transforms[t];
        const bool last = t + 1 == l->options.ntransforms;
        memcpy(before, now, sizeof before);
        for (uint32_t k = 0; k < l->info.ncolumns; k++) {
            tutti_tensor out = now[k];
            out.data = last && places[k] ? places[k] : w->work[1 - side[k]][k];
            instance_call c = instance_enter(transform, "apply");
            const int32_t r =
                l->tables[t]->apply(instance_self(transform), &of, k, &now[k], &out, &p->error);
            instance_leave(&c);
            if (r < 0)
                return samples_failed("transform", transform, (int64_t)of.index, r, &p->error);
            if (r > 0) {
                now[k] = out;
                side[k] = 1 - side[k];
            }
        }
    }
    return TUTTI_OK;
}

/* Into the batch, unless it is there already. */
static tutti_status put_sample(const loader *l, ring_slot *p, int64_t row, int64_t index,
                               const tutti_tensor *now)
{
    for (uint32_t k = 0; k < l->info.ncolumns; k++) {
        char have[96], want[96];
        if (!tutti_same_shape(&now[k].desc, &l->columns[k].desc) ||
            now[k].desc.dtype != l->columns[k].desc.dtype)
            return tutti_fail(&p->error, TUTTI_E_SHAPE,
                              "sample %lld: column %s is %s, the others are %s",
                              (long long)index, l->columns[k].name,
                              tutti_desc_text(&now[k].desc, have, sizeof have),
                              tutti_desc_text(&l->columns[k].desc, want, sizeof want));
        const uint64_t bytes = tutti_nbytes(&now[k].desc);
        char *to = (char *)p->columns[k].data + (uint64_t)row * bytes;
        if (to != now[k].data)
            memcpy(to, now[k].data, bytes);
    }
    return TUTTI_OK;
}

/* Reads sample `index` and transforms it into row `row` of the batch. */
static tutti_status make_sample(worker *w, ring_slot *p, int64_t row, int64_t index,
                                int64_t epoch)
{
    const loader *l = w->loader;
    const tutti_sample sample = {.struct_size = sizeof sample,
                                 .ncolumns = l->info.ncolumns,
                                 .seed = l->options.seed,
                                 .epoch = (uint64_t)epoch,
                                 .index = (uint64_t)index};
    tutti_tensor now[TUTTI_MAX_COLUMNS];
    void *places[TUTTI_MAX_COLUMNS] = {NULL};
    memset(now, 0, sizeof now);
    for (uint32_t k = 0; k < l->info.ncolumns; k++)
        places[k] = place_of(l, p, k, row);
    tutti_status s = read_sample(w, p, index, places, now);
    if (!s)
        s = transform_sample(w, p, &sample, places, now);
    return s ? s : put_sample(l, p, row, index, now);
}

bool loader_has_row(const loader_rows *rows, int64_t row)
{
    const int64_t behind = row - rows->first;
    return behind >= 0 && (rows->step ? behind % rows->step : behind) < rows->count;
}

/* Which rows of a batch the caller wants. */
static loader_rows wanted_rows(const loader *l, int64_t batch, int64_t samples)
{
    return l->rows.wants ? l->rows.wants(l->rows.ctx, batch, samples)
                         : (loader_rows){0, samples, 0};
}

/* A dataset with lanes hears once an epoch which samples are read here. */
static tutti_status tell_samples(const loader *l, const epoch_order *order, tutti_error *err)
{
    int64_t n = 0;
    int64_t *own = malloc((size_t)l->orders.places * sizeof *own);
    if (!own)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for the order of %lld samples",
                          (long long)l->orders.places);
    for (int64_t batch = 0; batch < l->batches; batch++) {
        const int64_t samples = batch_samples(l, batch), first = batch * l->options.batch_size;
        const loader_rows rows = wanted_rows(l, batch, samples);
        for (int64_t row = 0; row < samples; row++)
            if (loader_has_row(&rows, row))
                own[n++] = epoch_order_at(order, first + row);
    }
    epoch_lanes_expect(&l->orders.lanes, own, n);
    free(own);
    return TUTTI_OK;
}

void loader_make_rows(worker *w, ring_slot *p, int64_t epoch, int64_t batch, bool others)
{
    loader *l = w->loader;
    const int64_t first = batch * l->options.batch_size;
    epoch_order order;
    if (epoch_order_acquire(&l->orders, epoch, &order, &p->error))
        return;
    const bool good = !order.fresh || !l->orders.lanes.table || l->resident ||
                      tell_samples(l, &order, &p->error) == TUTTI_OK;
    for (int64_t row = 0; good && row < p->samples; row++) {
        if (loader_has_row(&p->made, row) == others)
            continue;
        if (__atomic_load_n(&l->stop, __ATOMIC_RELAXED))
            break; /* nobody will ask for it */
        if (make_sample(w, p, row, epoch_order_at(&order, first + row), epoch))
            break;
    }
    epoch_order_release(&l->orders, &order);
}

static void make_batch(worker *w, ring_slot *p, int64_t epoch, int64_t batch)
{
    const loader *l = w->loader;
    p->samples = batch_samples(l, batch);
    p->made = wanted_rows(l, batch, p->samples);
    loader_make_rows(w, p, epoch, batch, false);
    for (uint32_t k = 0; k < l->info.ncolumns; k++)
        p->columns[k].desc.dim[0] = p->samples;
}

static void *work(void *argument)
{
    worker *w = argument;
    loader *l = w->loader;
    crash_thread_begin();
    (void)pthread_mutex_lock(&l->lock);
    for (;;) {
        ring_slot *p = &l->ring[l->next % l->nring];
        while (!l->stop && p->state != BATCH_FREE) {
            (void)pthread_cond_wait(&l->freed, &l->lock);
            p = &l->ring[l->next % l->nring];
        }
        if (l->stop)
            break;
        const int64_t number = l->next++;
        const int64_t batch = l->start.batch + number;
        const int64_t epoch = l->start.epoch + batch / l->batches;
        p->state = BATCH_TAKEN;
        p->number = number;
        memset(&p->error, 0, sizeof p->error);
        p->error.struct_size = sizeof p->error;
        (void)pthread_mutex_unlock(&l->lock);
        make_batch(w, p, epoch, batch % l->batches);
        (void)pthread_mutex_lock(&l->lock);
        p->state = BATCH_READY;
        (void)pthread_cond_broadcast(&l->filled);
    }
    (void)pthread_mutex_unlock(&l->lock);
    crash_thread_end();
    return NULL;
}

/* ---- threads ---- */

void loader_stop_workers(loader *l)
{
    (void)pthread_mutex_lock(&l->lock);
    __atomic_store_n(&l->stop, true, __ATOMIC_RELAXED);
    (void)pthread_cond_broadcast(&l->freed);
    (void)pthread_mutex_unlock(&l->lock);
    for (uint32_t k = 0; k < l->nworkers; k++)
        if (l->workers[k].running) {
            (void)pthread_join(l->workers[k].thread, NULL);
            l->workers[k].running = false;
        }
    __atomic_store_n(&l->stop, false, __ATOMIC_RELAXED);
}

tutti_status loader_start_workers(loader *l, tutti_error *err)
{
    for (uint32_t k = 0; k < l->nworkers; k++) {
        if (l->workers[k].running)
            continue;
        if (pthread_create(&l->workers[k].thread, NULL, work, &l->workers[k]) != 0)
            return tutti_fail(err, TUTTI_E_NOMEM,
                              "cannot start %u data workers: no memory, or too many threads",
                              l->nworkers);
        l->workers[k].running = true;
    }
    return TUTTI_OK;
}
