/* loader_internal.h - a loader: its ring of batches and the workers that fill it; for its own files. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_DATA_LOADER_INTERNAL_H
#define HOST_TRAIN_DATA_LOADER_INTERNAL_H

#include "train/data/epoch_order.h"
#include "train/data/loader.h"

#include <pthread.h>

/* The unit of work is one batch: a worker takes the next batch number that has a free place in the
 * ring, reads and transforms its samples, and marks the place ready.  Contents are a function of
 * (seed, epoch, batch), so which worker made them does not matter. */

enum { BATCH_FREE, BATCH_TAKEN, BATCH_READY };

enum { LOADER_ALIGN = 64 }; /* bytes, of memory that samples are read and transformed in */

/* One batch of the ring. */
typedef struct ring_slot {
    tutti_tensor columns[TUTTI_MAX_COLUMNS]; /* (B, ...) */
    int64_t samples;
    loader_rows made; /* those with contents */
    int64_t number;   /* which batch since `first` it holds or will hold */
    int state;        /* BATCH_* */
    tutti_error error;
} ring_slot;

/* loader_choose_rows. */
typedef struct rows_chooser {
    loader_rows (*wants)(const void *ctx, int64_t batch, int64_t samples); /* NULL: all */
    const void *ctx;
} rows_chooser;

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
    epoch_orders orders;
    tutti_column columns[TUTTI_MAX_COLUMNS]; /* after the transforms */
    uint64_t capacity[TUTTI_MAX_COLUMNS];    /* bytes that a sample needs at its largest */
    int64_t batches;                         /* an epoch */

    worker *workers; /* and one more, without a thread, for the caller's own work */
    uint32_t nworkers;
    ring_slot *ring;
    uint32_t nring;
    bool resident;
    rows_chooser rows;
    void *samples[TUTTI_MAX_COLUMNS]; /* all of them, when resident, (N, ...) */
    pthread_mutex_t lock;
    pthread_cond_t filled;
    pthread_cond_t freed;
    bool stop;
    struct {
        int64_t epoch, batch;
    } start;       /* batch number 0 */
    int64_t next;  /* the next number that a worker takes */
    int64_t taken; /* the number that loader_next takes next */
    bool ended;    /* the end of an epoch was reported */
    bool held;     /* the caller holds batch `taken` - 1 */
    uint64_t waited_ns;
};

/* loader_worker.c */
TUTTI_NODISCARD tutti_status loader_start_workers(loader *l, tutti_error *err);
void loader_stop_workers(loader *l); /* and wait for them */
/* Whether `row` is one of `rows`. */
bool loader_has_row(const loader_rows *rows, int64_t row);
/* Rows of batch `batch` of `epoch`, into `p`: those of p->made, or all others.  What went wrong is p->error.  Returns early
 * when the workers are to stop. */
void loader_make_rows(worker *w, ring_slot *p, int64_t epoch, int64_t batch, bool others);

#endif
