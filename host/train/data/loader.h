/* loader.h - batches from a dataset: order, worker threads, transforms, prefetch. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_DATA_LOADER_H
#define HOST_TRAIN_DATA_LOADER_H

#include "plugin/instance.h"
#include "train/run_file/run_sections.h"
#include "tutti/dataset.h"
#include "tutti/transform.h"

#include <stdbool.h>

typedef struct loader loader; /* opaque */

typedef struct loader_options {
    instance *dataset;           /* borrowed; kind "dataset" */
    instance *const *transforms; /* borrowed; applied in order */
    uint32_t ntransforms;
    uint32_t workers;  /* threads that read and transform; at least 1 */
    uint32_t prefetch; /* batches ready ahead; at least 1 */
    bool
        shuffle; /* a seeded permutation for every epoch, lanes, or the dataset's own; else in order */
    bool drop_last;             /* leave out a last batch that is not full */
    int64_t batch_size;         /* samples */
    int64_t subset_num_batches; /* batches an epoch at most; -1: all */
    uint64_t seed;
    run_lanes lanes;   /* with `shuffle`; no more than a batch has slots */
    int64_t slot_size; /* samples, with lanes: see epoch_lanes.h */
    const run_sampler
        *sampler; /* borrowed; NULL, or of kind NONE: the order is the shuffle's */
} loader_options;

/* Infers the columns after the transforms; starts nothing and takes no memory for batches yet.  [control]
 * Errors: E_ARG an empty dataset, or one that has no lanes; E_SHAPE columns that still vary in shape after the transforms. */
TUTTI_NODISCARD tutti_status loader_create(const loader_options *options, loader **ret_loader,
                                           tutti_error *err);
void loader_destroy(loader *l); /* stops the threads; NULL is allowed */

const tutti_column *loader_columns(const loader *l, uint32_t *ret_count); /* of one sample */
int64_t loader_batches(const loader *l);                                  /* in an epoch */
const loader_options *loader_settings(const loader *l);                   /* as in create */
const tutti_dataset_info *loader_dataset(const loader *l); /* before the transforms */

/* Rows [first, first + count) of a batch, and so many again after every `step` rows; 0: once. */
typedef struct loader_rows {
    int64_t first, count, step;
} loader_rows;
/* Which rows of batch `batch` of an epoch, of `samples`, the caller wants: the others have no contents until
 * loader_complete.  From the next seek on; NULL: all of them.  [control]; `wants` is called by the workers. */
void loader_choose_rows(loader *l,
                        loader_rows (*wants)(const void *ctx, int64_t batch, int64_t samples),
                        const void *ctx);
/* Of the batch that loader_next has given last: whether rows are missing, and making them.  [step] */
bool loader_is_partial(const loader *l);
TUTTI_NODISCARD tutti_status loader_complete(loader *l, tutti_error *err);

/* The numbers in the dataset of the samples of that batch, at most batch_size.  Errors: the dataset's, where it
 * has an order of its own. */
TUTTI_NODISCARD tutti_status loader_order(loader *l, int64_t epoch, int64_t batch,
                                          int64_t *index, int64_t *ret_samples,
                                          tutti_error *err);

/* Called before the first batch: all samples are read once, by then, and kept in memory.  They have one
 * shape, as samples_bytes (samples.h) has said. */
void loader_make_resident(loader *l);

/* The next loader_next gives batch `batch` of epoch `epoch` (both from 0), at no cost for what lies
 * before.  Batches already made are dropped.  [control] */
TUTTI_NODISCARD tutti_status loader_seek(loader *l, int64_t epoch, int64_t batch,
                                         tutti_error *err);

/* The next batch: columns (B, ...), 64-byte aligned, valid until the next call (`columns` has room for
 * TUTTI_MAX_COLUMNS); *ret_samples is B, and 0
 * at the end of the epoch, after which the next call begins the next epoch.  The contents depend
 * on seed, epoch and batch alone, not on workers.  Errors name file and sample.  [step] */
TUTTI_NODISCARD tutti_status loader_next(loader *l, tutti_tensor *columns,
                                         uint32_t *ret_ncolumns, int64_t *ret_samples,
                                         tutti_error *err);

/* Nanoseconds that loader_next has waited for workers since create. */
uint64_t loader_waited_ns(const loader *l);

#endif
