/* epoch_lanes.h - "shuffle" in lanes: an order in which each slot of a batch reads few groups of samples, such as shards. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_DATA_EPOCH_LANES_H
#define HOST_TRAIN_DATA_EPOCH_LANES_H

#include "plugin/instance.h"
#include "train/run_file/run_sections.h"
#include "tutti/dataset.h"

/* The groups are permuted by (seed, epoch) and dealt to the lanes: each group to the lane that has the fewest samples for
 * those that a batch takes of it, so that all lanes end at about the same time.  In a lane windows of so many groups in a row are
 * shuffled sample by sample by (seed, epoch, lane, window).  Slot s of a batch takes its samples from lane s mod lanes, or
 * where that is used up from the next one that has some.  The order is a function of what stands here and of
 * (seed, epoch), not of processes. */
typedef struct epoch_lanes {
    instance *dataset;                   /* borrowed */
    const tutti_sample_groups_v1 *table; /* its */
    int64_t *first;                      /* (groups + 1), the last is the number of samples */
    int64_t groups;
    int64_t batch_size;
    int64_t slot_size; /* samples of a slot, a microbatch; a batch's last one may have fewer */
    run_lanes settings;
} epoch_lanes;

/* `l` has its members but for table, first and groups; it is for epoch_lanes_fini even after an error.  Errors: E_ARG the
 * dataset has no groups, fewer than lanes, or an order of its own; E_FORMAT its groups leave samples out.  [control] */
TUTTI_NODISCARD tutti_status epoch_lanes_init(epoch_lanes *l, int64_t samples,
                                              tutti_error *err);
/* Of that, first and groups, where `table` is set: it is that of `self`, a dataset called `name`.  [control] */
TUTTI_NODISCARD tutti_status epoch_lanes_read_groups(epoch_lanes *l, const char *name,
                                                     void *self, int64_t samples,
                                                     tutti_error *err);
void epoch_lanes_fini(epoch_lanes *l); /* also of zeros */
/* Every sample's number once, to `index`, which has room for them.  Errors: E_NOMEM.  [any] */
TUTTI_NODISCARD tutti_status epoch_lanes_order(const epoch_lanes *l, const tutti_epoch *epoch,
                                               int64_t *ret_index, tutti_error *err);
/* Tells the dataset which samples this process reads.  [any] */
void epoch_lanes_expect(const epoch_lanes *l, const int64_t *samples, int64_t count);

#endif
