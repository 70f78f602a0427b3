/* loader.c - worker threads fill a ring of batches in an order that does not depend on them. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/loader.h"

#include "graph/runtime/host_memory.h"
#include "train/permutation.h"
#include "train/samples.h"
#include "train/signals.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The unit of work is one batch: a worker takes the next batch number that has a free place in the
 * ring, reads and transforms its samples, and marks the place ready.  Contents are a function of
 * (seed, epoch, batch), so which worker made them does not matter. */

enum { BATCH_FREE, BATCH_TAKEN, BATCH_READY };

typedef struct place {
    tutti_tensor columns[TUTTI_MAX_COLUMNS]; /* (B, ...) */
    int64_t samples;
    int64_t number; /* which batch since `first` it holds or will hold */
    int state;      /* BATCH_* */
    tutti_error error;
} place;

typedef struct worker {
    pthread_t thread;
    struct loader *loader;
    void *work[2][TUTTI_MAX_COLUMNS]; /* a sample before and after a transform */
    bool running;
} worker;

struct loader {
    loader_options options;
    const tutti_dataset_v1 *dataset;
    const tutti_transform_v1 **tables;
    tutti_dataset_info info;
    tutti_column columns[TUTTI_MAX_COLUMNS]; /* after the transforms */
    uint64_t room[TUTTI_MAX_COLUMNS];        /* bytes that a sample needs at its largest */
    int64_t batches;                         /* an epoch */

    worker *workers;
    uint32_t nworkers;
    place *ring;
    uint32_t nring;
    bool keep;
    void *kept[TUTTI_MAX_COLUMNS]; /* all samples, (N, ...) */
    pthread_mutex_t lock;
    pthread_cond_t filled;
    pthread_cond_t freed;
    bool stop;
    int64_t epoch; /* of batch number 0 */
    int64_t batch;
    int64_t next;  /* the next number that a worker takes */
    int64_t given; /* the number that loader_next gives next */
    bool ended;    /* the end of an epoch was reported */
    bool held;     /* the caller holds batch `given` - 1 */
    uint64_t waited_ns;
};

static int64_t batch_samples(const loader *l, int64_t batch)
{
    const int64_t left = l->info.samples - batch * l->options.batch_size;
    return left < l->options.batch_size ? left : l->options.batch_size;
}

static permutation order_of(const loader *l, int64_t epoch)
{
    return permutation_make((uint64_t)l->info.samples, l->options.seed, (uint64_t)epoch);
}

static int64_t sample_at(const loader *l, const permutation *order, int64_t batch, int64_t row)
{
    const int64_t at = batch * l->options.batch_size + row;
    return l->options.shuffle ? (int64_t)permutation_at(order, (uint64_t)at) : at;
}

int64_t loader_order(const loader *l, int64_t epoch, int64_t batch, int64_t *index)
{
    const permutation order = order_of(l, epoch);
    const int64_t samples = batch_samples(l, batch);
    for (int64_t row = 0; row < samples; row++)
        index[row] = sample_at(l, &order, batch, row);
    return samples;
}

/* ---- the work ---- */

/* Reads sample `index` and transforms it into row `row` of the batch. */
static tutti_status make_sample(worker *w, place *p, int64_t row, int64_t index, int64_t epoch)
{
    loader *l = w->loader;
    tutti_tensor now[TUTTI_MAX_COLUMNS], before[TUTTI_MAX_COLUMNS];
    int side[TUTTI_MAX_COLUMNS] = {0};
    memset(now, 0, sizeof now);
    for (uint32_t k = 0; k < l->info.ncolumns; k++) {
        const tutti_desc *d = &l->info.columns[k].desc;
        now[k].data =
            l->keep ? (char *)l->kept[k] + (uint64_t)index * tutti_nbytes(d) : w->work[0][k];
        now[k].desc = *d;
        now[k].device = TUTTI_DEVICE_CPU;
    }
    tutti_status s = l->keep ? TUTTI_OK
                             : samples_read_one(l->options.dataset, l->dataset, index, now,
                                                l->room, l->info.ncolumns, &p->error);
    const tutti_sample sample = {sizeof sample,   l->info.ncolumns, l->options.seed,
                                 (uint64_t)epoch, (uint64_t)index,  before};
    for (uint32_t t = 0; s == TUTTI_OK && t < l->options.ntransforms; t++) {
        memcpy(before, now, sizeof before);
        for (uint32_t k = 0; s == TUTTI_OK && k < l->info.ncolumns; k++) {
            tutti_tensor out = now[k];
            out.data = w->work[1 - side[k]][k];
            instance *transform = l->options.transforms[t];
            instance_call c = instance_enter(transform, "apply");
            const int32_t r = l->tables[t]->apply(instance_self(transform), &sample, k, &now[k],
                                                  &out, &p->error);
            instance_leave(&c);
            if (r < 0)
                s = r;
            else if (r > 0) {
                now[k] = out;
                side[k] = 1 - side[k];
            }
        }
    }
    for (uint32_t k = 0; s == TUTTI_OK && k < l->info.ncolumns; k++) {
        char have[96], want[96];
        if (!tutti_same_shape(&now[k].desc, &l->columns[k].desc))
            return tutti_fail(&p->error, TUTTI_E_SHAPE,
                              "sample %lld: column %s is %s, the others are %s",
                              (long long)index, l->columns[k].name,
                              tutti_desc_text(&now[k].desc, have, sizeof have),
                              tutti_desc_text(&l->columns[k].desc, want, sizeof want));
        const uint64_t bytes = tutti_nbytes(&now[k].desc);
        memcpy((char *)p->columns[k].data + (uint64_t)row * bytes, now[k].data, bytes);
    }
    return s;
}

static void make_batch(worker *w, place *p, int64_t epoch, int64_t batch)
{
    const loader *l = w->loader;
    const permutation order = order_of(l, epoch);
    p->samples = batch_samples(l, batch);
    for (int64_t row = 0; row < p->samples; row++) {
        if (__atomic_load_n(&l->stop, __ATOMIC_RELAXED))
            return; /* nobody will ask for it */
        if (make_sample(w, p, row, sample_at(l, &order, batch, row), epoch))
            return;
    }
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
        place *p = &l->ring[l->next % l->nring];
        while (!l->stop && p->state != BATCH_FREE) {
            (void)pthread_cond_wait(&l->freed, &l->lock);
            p = &l->ring[l->next % l->nring];
        }
        if (l->stop)
            break;
        const int64_t number = l->next++;
        const int64_t batch = l->batch + number;
        const int64_t epoch = l->epoch + batch / l->batches;
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

static void stop(loader *l)
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

static tutti_status start(loader *l, tutti_error *err)
{
    for (uint32_t k = 0; k < l->nworkers; k++) {
        if (l->workers[k].running)
            continue;
        if (pthread_create(&l->workers[k].thread, NULL, work, &l->workers[k]) != 0)
            return tutti_fail(err, TUTTI_E_NOMEM, "cannot start %u data workers", l->nworkers);
        l->workers[k].running = true;
    }
    return TUTTI_OK;
}

/* ---- making ---- */

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
    l->tables = calloc(l->options.ntransforms + 1, sizeof *l->tables);
    if (!l->tables)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for transforms");
    return TUTTI_OK;
}

/* The largest a column gets on its way; unknown dimensions count as 4096. */
static void widen(loader *l)
{
    for (uint32_t k = 0; k < l->info.ncolumns; k++) {
        tutti_desc d = l->columns[k].desc;
        for (int32_t r = 0; r < d.rank; r++)
            if (d.dim[r] < 0)
                d.dim[r] = 4096;
        const uint64_t bytes = tutti_nbytes(&d);
        if (bytes > l->room[k])
            l->room[k] = bytes;
    }
}

static tutti_status infer_columns(loader *l, tutti_error *err)
{
    widen(l);
    for (uint32_t t = 0; t < l->options.ntransforms; t++) {
        instance *i = l->options.transforms[t];
        l->tables[t] = instance_query(i, TUTTI_TRANSFORM_V1);
        if (!l->tables[t])
            return tutti_fail(err, TUTTI_E_UNSUPPORTED,
                              "transform %s has no " TUTTI_TRANSFORM_V1, instance_name(i));
        instance_call c = instance_enter(i, "infer");
        const tutti_status s =
            l->tables[t]->infer(instance_self(i), l->columns, l->info.ncolumns, err);
        instance_leave(&c);
        if (s)
            return s;
        widen(l);
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
    return aligned_alloc(64, (bytes + 63) / 64 * 64 + 64);
}

static tutti_status make_memory(loader *l, tutti_error *err)
{
    l->nworkers = l->options.workers ? l->options.workers : 1;
    l->nring = l->options.prefetch + 1 + l->nworkers;
    l->workers = calloc(l->nworkers, sizeof *l->workers);
    l->ring = calloc(l->nring, sizeof *l->ring);
    if (!l->workers || !l->ring)
        goto nomem;
    for (uint32_t w = 0; w < l->nworkers; w++) {
        l->workers[w].loader = l;
        for (uint32_t k = 0; k < l->info.ncolumns; k++)
            if (!(l->workers[w].work[0][k] = aligned(l->room[k])) ||
                !(l->workers[w].work[1][k] = aligned(l->room[k])))
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
    bool room = true;
    for (uint32_t k = 0; k < l->info.ncolumns; k++) {
        all[k] = host_memory_alloc((uint64_t)l->info.samples *
                                   tutti_nbytes(&l->info.columns[k].desc));
        room = room && all[k];
    }
    const tutti_status s =
        room ? samples_read(l->options.dataset, &l->info, 0, l->info.samples, l->nworkers, all,
                            err)
             : tutti_fail(err, TUTTI_E_NOMEM, "no memory to keep %lld samples",
                          (long long)l->info.samples);
    for (uint32_t k = 0; k < l->info.ncolumns; k++)
        if (s)
            free(all[k]);
        else
            l->kept[k] = all[k];
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
    l->batches =
        options->drop_last ? l->info.samples / size : (l->info.samples + size - 1) / size;
    if (options->subset_num_batches >= 0 && options->subset_num_batches < l->batches)
        l->batches = options->subset_num_batches;
    if (l->batches < 1) {
        s = tutti_fail(
            err, TUTTI_E_ARG, "dataset %s has %lld samples, which is no whole batch of %lld",
            instance_name(options->dataset), (long long)l->info.samples, (long long)size);
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
        stop(l);
    for (uint32_t w = 0; l->workers && w < l->nworkers; w++)
        for (uint32_t k = 0; k < TUTTI_MAX_COLUMNS; k++) {
            free(l->workers[w].work[0][k]);
            free(l->workers[w].work[1][k]);
        }
    for (uint32_t p = 0; l->ring && p < l->nring; p++)
        for (uint32_t k = 0; k < TUTTI_MAX_COLUMNS; k++)
            free(l->ring[p].columns[k].data);
    for (uint32_t k = 0; k < TUTTI_MAX_COLUMNS; k++)
        free(l->kept[k]);
    free(l->workers);
    free(l->ring);
    free((void *)l->tables);
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

void loader_keep(loader *l)
{
    l->keep = true;
}

uint64_t loader_waited_ns(const loader *l)
{
    return l->waited_ns;
}

tutti_status loader_seek(loader *l, int64_t epoch, int64_t batch, tutti_error *err)
{
    tutti_status s = TUTTI_OK;
    if ((!l->ring && (s = make_memory(l, err))) ||
        (l->keep && !l->kept[0] && (s = read_all(l, err))))
        return s;
    stop(l);
    for (uint32_t p = 0; p < l->nring; p++)
        l->ring[p].state = BATCH_FREE;
    l->epoch = epoch;
    l->batch = batch;
    l->next = l->given = 0;
    l->held = false;
    l->ended = batch > 0 && batch % l->batches == 0 ? false : true;
    return start(l, err);
}

static uint64_t now_ns(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
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
        l->ring[(l->given - 1) % l->nring].state = BATCH_FREE;
        l->held = false;
        (void)pthread_cond_broadcast(&l->freed);
    }
    if ((l->batch + l->given) % l->batches == 0 && !l->ended) {
        l->ended = true;
        *ret_samples = 0;
        (void)pthread_mutex_unlock(&l->lock);
        return TUTTI_OK;
    }
    place *p = &l->ring[l->given % l->nring];
    if (p->state != BATCH_READY || p->number != l->given) {
        const uint64_t began = now_ns();
        while ((p->state != BATCH_READY || p->number != l->given) && !trainer_hurries())
            wait_a_while(l);
        l->waited_ns += now_ns() - began;
    }
    if (p->state != BATCH_READY || p->number != l->given) {
        (void)pthread_mutex_unlock(&l->lock);
        return tutti_fail(err, TUTTI_E_INTERRUPTED,
                          "stopped by signal %d while data was awaited", trainer_signal());
    }
    l->given++;
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
