/* loader.c - the data loader and its prefetch: batches in an order that does not depend on the threads that make them. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/data/loader_internal.h"

#include "base/monotonic.h"
#include "graph/runtime/host_memory.h"
#include "train/context/signals.h"
#include "train/data/samples.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- making ---- */

/* What `who` says of the columns. */
static tutti_status check_columns(const loader *l, const instance *who, tutti_error *err)
{
    const char *kind = object_describe(instance_object(who))->kind;
    const tutti_status s =
        samples_check_columns(kind, instance_name(who), l->columns, l->info.ncolumns, err);
    for (uint32_t k = 0; !s && k < l->info.ncolumns; k++)
        if (l->columns[k].desc.rank == TUTTI_MAX_RANK)
            return tutti_fail(
                err, TUTTI_E_SHAPE,
                "%s %s: column %.32s has rank %d, want at most %d: a batch has one more", kind,
                instance_name(who), l->columns[k].name, TUTTI_MAX_RANK, TUTTI_MAX_RANK - 1);
    return s;
}

static tutti_status open_tables(loader *l, tutti_error *err)
{
    l->dataset = instance_query(l->options.dataset, TUTTI_DATASET_V1);
    if (!l->dataset)
        return tutti_fail(err, TUTTI_E_UNSUPPORTED, "dataset %s has no " TUTTI_DATASET_V1,
                          instance_name(l->options.dataset));
    l->info.struct_size = sizeof l->info;
    instance_call c = instance_enter(l->options.dataset, "info");
    const tutti_status s = l->dataset->info(instance_self(l->options.dataset), &l->info, err);
    instance_leave(&c);
    if (s)
        return s;
    if (l->info.samples < 1)
        return tutti_fail(err, TUTTI_E_ARG, "dataset %s is empty",
                          instance_name(l->options.dataset));
    memcpy(l->columns, l->info.columns, sizeof l->columns);
    const tutti_status bad = check_columns(l, l->options.dataset, err);
    if (bad)
        return bad;
    l->tables = calloc(l->options.ntransforms + 1, sizeof *l->tables);
    if (!l->tables)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for transforms");
    return TUTTI_OK;
}

/* The largest a column gets on its way; unknown dimensions count as 4096. */
static void grow_capacity(loader *l)
{
    for (uint32_t k = 0; k < l->info.ncolumns; k++) {
        tutti_desc d = l->columns[k].desc;
        for (int32_t r = 0; r < d.rank; r++)
            if (d.dim[r] < 0)
                d.dim[r] = 4096;
        const uint64_t bytes = tutti_nbytes(&d);
        if (bytes > l->capacity[k])
            l->capacity[k] = bytes;
    }
}

static tutti_status infer_columns(loader *l, tutti_error *err)
{
    grow_capacity(l);
    for (uint32_t t = 0; t < l->options.ntransforms; t++) {
        instance *i = l->options.transforms[t];
        l->tables[t] = instance_query(i, TUTTI_TRANSFORM_V1);
        if (!l->tables[t])
            return tutti_fail(err, TUTTI_E_UNSUPPORTED,
                              "transform %s has no " TUTTI_TRANSFORM_V1, instance_name(i));
        instance_call c = instance_enter(i, "infer");
        tutti_status s =
            l->tables[t]->infer(instance_self(i), l->columns, l->info.ncolumns, err);
        instance_leave(&c);
        if (s || (s = check_columns(l, i, err)))
            return s;
        grow_capacity(l);
    }
    for (uint32_t k = 0; k < l->info.ncolumns; k++)
        for (int32_t r = 0; r < l->columns[k].desc.rank; r++)
            if (l->columns[k].desc.dim[r] < 0)
                return tutti_fail(err, TUTTI_E_SHAPE,
                                  "column %s differs in shape from sample to sample; add a "
                                  "transform that makes it one size",
                                  l->columns[k].name);
    return TUTTI_OK;
}

static void *aligned(uint64_t bytes)
{
    return aligned_alloc(LOADER_ALIGN, (bytes / LOADER_ALIGN + 2) * LOADER_ALIGN);
}

static tutti_status make_memory(loader *l, tutti_error *err)
{
    l->nworkers = l->options.workers ? l->options.workers : 1;
    l->nring = l->options.prefetch + 1 + l->nworkers;
    l->workers = calloc(l->nworkers + 1, sizeof *l->workers);
    l->ring = calloc(l->nring, sizeof *l->ring);
    if (!l->workers || !l->ring)
        goto nomem;
    for (uint32_t w = 0; w <= l->nworkers; w++) {
        l->workers[w].loader = l;
        for (uint32_t k = 0; k < l->info.ncolumns; k++)
            if (!(l->workers[w].work[0][k] = aligned(l->capacity[k])) ||
                !(l->workers[w].work[1][k] = aligned(l->capacity[k])))
                goto nomem;
    }
    for (uint32_t p = 0; p < l->nring; p++)
        for (uint32_t k = 0; k < l->info.ncolumns; k++) {
            tutti_tensor *t = &l->ring[p].columns[k];
            const tutti_desc *one = &l->columns[k].desc;
            t->desc.rank = one->rank + 1;
            t->desc.dtype = one->dtype;
            t->desc.dim[0] = l->options.batch_size;
            memcpy(t->desc.dim + 1, one->dim, (size_t)one->rank * sizeof *one->dim);
            t->device = TUTTI_DEVICE_CPU;
            if (!(t->data = aligned(tutti_nbytes(&t->desc))))
                goto nomem;
        }
    return TUTTI_OK;
nomem:
    return tutti_fail(err, TUTTI_E_NOMEM, "no memory for %u batches of %lld samples", l->nring,
                      (long long)l->options.batch_size);
}

static tutti_status read_all(loader *l, tutti_error *err)
{
    void *all[TUTTI_MAX_COLUMNS] = {NULL};
    bool enough = true;
    for (uint32_t k = 0; k < l->info.ncolumns; k++) {
        all[k] = host_memory_alloc((uint64_t)l->info.samples *
                                   tutti_nbytes(&l->info.columns[k].desc));
        enough = enough && all[k];
    }
    const tutti_status s =
        enough ? samples_read(l->options.dataset, &l->info, 0, l->info.samples, l->nworkers,
                              all, err)
               : tutti_fail(err, TUTTI_E_NOMEM, "no memory to keep %lld samples",
                            (long long)l->info.samples);
    for (uint32_t k = 0; k < l->info.ncolumns; k++)
        if (s)
            free(all[k]);
        else
            l->samples[k] = all[k];
    return s;
}

tutti_status loader_create(const loader_options *options, loader **ret_loader, tutti_error *err)
{
    loader *l = calloc(1, sizeof *l);
    if (!l)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for a data loader");
    l->options = *options;
    (void)pthread_mutex_init(&l->lock, NULL);
    (void)pthread_cond_init(&l->filled, NULL);
    (void)pthread_cond_init(&l->freed, NULL);
    tutti_status s = open_tables(l, err);
    if (s || (s = infer_columns(l, err)))
        goto fail;
    const int64_t size = options->batch_size;
    l->orders = (epoch_orders){.dataset = options->dataset,
                               .samples = l->info.samples,
                               .batch_size = size,
                               .seed = options->seed,
                               .shuffle = options->shuffle};
    if (options->sampler && options->sampler->kind != RUN_SAMPLER_NONE &&
        (s = epoch_sampler_create(options->sampler, options->dataset, &l->info,
                                  options->workers, &l->orders.sampler, err)))
        goto fail;
    if (options->lanes.lanes) {
        l->orders.lanes = (epoch_lanes){.dataset = options->dataset,
                                        .batch_size = size,
                                        .slot_size = options->slot_size,
                                        .settings = options->lanes};
        if ((s = epoch_lanes_init(&l->orders.lanes, l->info.samples, err)))
            goto fail;
    }
    if ((s = epoch_orders_init(&l->orders, err)))
        goto fail;
    const int64_t places = l->orders.places;
    l->batches = options->drop_last ? places / size : (places + size - 1) / size;
    if (options->subset_num_batches >= 0 && options->subset_num_batches < l->batches)
        l->batches = options->subset_num_batches;
    if (l->batches < 1) {
        s = tutti_fail(err, TUTTI_E_ARG,
                       "dataset %s has %lld samples, which is no whole batch of %lld",
                       instance_name(options->dataset), (long long)places, (long long)size);
        goto fail;
    }
    *ret_loader = l;
    return TUTTI_OK;

fail:
    loader_destroy(l);
    return s;
}

void loader_destroy(loader *l)
{
    if (!l)
        return;
    if (l->workers)
        loader_stop_workers(l);
    for (uint32_t w = 0; l->workers && w <= l->nworkers; w++)
        for (uint32_t k = 0; k < TUTTI_MAX_COLUMNS; k++) {
            free(l->workers[w].work[0][k]);
            free(l->workers[w].work[1][k]);
        }
    for (uint32_t p = 0; l->ring && p < l->nring; p++)
        for (uint32_t k = 0; k < TUTTI_MAX_COLUMNS; k++)
            free(l->ring[p].columns[k].data);
    for (uint32_t k = 0; k < TUTTI_MAX_COLUMNS; k++)
        free(l->samples[k]);
    free(l->workers);
    free(l->ring);
    free((void *)l->tables);
    epoch_sampler_destroy(l->orders.sampler);
    epoch_lanes_fini(&l->orders.lanes);
    epoch_orders_fini(&l->orders);
    (void)pthread_mutex_destroy(&l->lock);
    (void)pthread_cond_destroy(&l->filled);
    (void)pthread_cond_destroy(&l->freed);
    free(l);
}

const tutti_column *loader_columns(const loader *l, uint32_t *ret_count)
{
    *ret_count = l->info.ncolumns;
    return l->columns;
}

int64_t loader_batches(const loader *l)
{
    return l->batches;
}

const loader_options *loader_settings(const loader *l)
{
    return &l->options;
}

const tutti_dataset_info *loader_dataset(const loader *l)
{
    return &l->info;
}

void loader_make_resident(loader *l)
{
    l->resident = true;
}

uint64_t loader_waited_ns(const loader *l)
{
    return l->waited_ns;
}

tutti_status loader_seek(loader *l, int64_t epoch, int64_t batch, tutti_error *err)
{
    tutti_status s = TUTTI_OK;
    if ((!l->ring && (s = make_memory(l, err))) ||
        (l->resident && !l->samples[0] && (s = read_all(l, err))))
        return s;
    loader_stop_workers(l);
    for (uint32_t p = 0; p < l->nring; p++)
        l->ring[p].state = BATCH_FREE;
    l->start.epoch = epoch;
    l->start.batch = batch;
    l->next = l->taken = 0;
    l->held = false;
    l->ended = batch > 0 && batch % l->batches == 0 ? false : true;
    return loader_start_workers(l, err);
}

/* ---- rows of a batch ---- */

void loader_choose_rows(loader *l,
                        loader_rows (*wants)(const void *ctx, int64_t batch, int64_t samples),
                        const void *ctx)
{
    if (l->workers)
        loader_stop_workers(l);
    l->rows = (rows_chooser){wants, ctx};
}

/* The batch that the caller has; NULL: none. */
static ring_slot *held_batch(const loader *l)
{
    return l->held ? &l->ring[(l->taken - 1) % l->nring] : NULL;
}

bool loader_is_partial(const loader *l)
{
    const ring_slot *p = held_batch(l);
    int64_t row = 0;
    while (p && row < p->samples && loader_has_row(&p->made, row))
        row++;
    return p && row < p->samples;
}

tutti_status loader_complete(loader *l, tutti_error *err)
{
    ring_slot *p = held_batch(l);
    if (!loader_is_partial(l))
        return TUTTI_OK;
    const int64_t number = l->start.batch + p->number;
    const int64_t epoch = l->start.epoch + number / l->batches, batch = number % l->batches;
    worker *own = &l->workers[l->nworkers];
    loader_make_rows(own, p, epoch, batch, true);
    if (p->error.status)
        return tutti_fail(err, p->error.status, "%s", p->error.text);
    p->made = (loader_rows){0, p->samples, 0};
    return TUTTI_OK;
}

/* For a batch, or until it is time to look at signals again. */
static void wait_a_while(loader *l)
{
    struct timespec until;
    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 200000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    (void)pthread_cond_timedwait(&l->filled, &l->lock, &until);
}

tutti_status loader_next(loader *l, tutti_tensor *columns, uint32_t *ret_ncolumns,
                         int64_t *ret_samples, tutti_error *err)
{
    if (!l->ring || !l->workers[0].running) {
        const tutti_status s = loader_seek(l, 0, 0, err);
        if (s)
            return s;
    }
    (void)pthread_mutex_lock(&l->lock);
    if (l->held) {
        l->ring[(l->taken - 1) % l->nring].state = BATCH_FREE;
        l->held = false;
        (void)pthread_cond_broadcast(&l->freed);
    }
    if ((l->start.batch + l->taken) % l->batches == 0 && !l->ended) {
        l->ended = true;
        *ret_samples = 0;
        (void)pthread_mutex_unlock(&l->lock);
        return TUTTI_OK;
    }
    ring_slot *p = &l->ring[l->taken % l->nring];
    if (p->state != BATCH_READY || p->number != l->taken) {
        const int64_t began = monotonic_ns();
        while ((p->state != BATCH_READY || p->number != l->taken) && !trainer_hurries())
            wait_a_while(l);
        l->waited_ns += (uint64_t)(monotonic_ns() - began);
    }
    if (p->state != BATCH_READY || p->number != l->taken) {
        (void)pthread_mutex_unlock(&l->lock);
        return tutti_fail(err, TUTTI_E_INTERRUPTED,
                          "stopped by signal %d while data was awaited",
                          trainer_first_signal());
    }
    l->taken++;
    l->held = true;
    l->ended = false;
    (void)pthread_mutex_unlock(&l->lock);
    if (p->error.status)
        return tutti_fail(err, p->error.status, "%s", p->error.text);
    memcpy(columns, p->columns, sizeof p->columns);
    *ret_ncolumns = l->info.ncolumns;
    *ret_samples = p->samples;
    return TUTTI_OK;
}
