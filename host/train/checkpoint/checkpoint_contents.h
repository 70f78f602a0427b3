/* checkpoint_contents.h - the contents of a checkpoint: named views of where a run's state lives. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_CHECKPOINT_CHECKPOINT_CONTENTS_H
#define HOST_TRAIN_CHECKPOINT_CHECKPOINT_CONTENTS_H

#include "train/checkpoint/contents_shards.h"
#include "train/checkpoint/state_owners.h"
#include "train/checkpoint_file/checkpoint.h"
#include "tutti/optimizer.h"

#include <stdbool.h>

/* Tensors: "model.<path>", "optimizer.<slot>.<path>", "<owner>.<item>" (state_owners.h),
 * "evaluation.<label>": the batch at which it was last due, i64, or -3 less that where it is not done yet, "run.clock": the
 * counters below, i64, with amp_fp16 "run.loss_scale", and "metric.<k>.<name>": the sums of a metric of training, f64;
 * "run.rate.<k>", f64, of an optimizer group whose rate a plugin has set; with amp_fp16 "run.skipped", f64: updates that were
 * left out in a row, the batch of the first, the scale behind the last.  Texts: "run" (the run file), the
 * provenance's, and "loop", what the loop of training_on_checkpoint keeps; CONTENTS_KEY is there where a file has
 * weights alone. */
#define CONTENTS_KEY "contents"
#define CONTENTS_WEIGHTS "weights"
enum {
    CLOCK_FIELDS = 14,             /* counters of a timestamp: of now, before, last schedule */
    CLOCK_STEP = 3 * CLOCK_FIELDS, /* optimizer updates */
    CLOCK_HAS_PREVIOUS,            /* 1, and flags */
    CLOCK_SIZE,
    CLOCK_STOPPED = 2,       /* stop_training was called */
    CLOCK_LEFT = 4,          /* the checkpoint event of the batch or epoch is still to come */
    CLOCK_ITERATION_LEFT = 8 /* likewise that of the iteration */
};
#define METRIC_PREFIX "metric."
#define RATE_PREFIX "run.rate."
#define SKIPS_ITEM "run.skipped"

typedef struct checkpoint_contents {
    checkpoint_item *list;
    int32_t *ranks;      /* who writes each item */
    state_owner *owners; /* whose each item is; its instance is NULL: the run's own */
    char (*names)[192];
    size_t count;
    size_t capacity;
    unsigned char *staged; /* copies, for writing */
    float
        *slots[TUTTI_OPTIMIZER_MAX_SLOTS]; /* of the optimizer, whole, where they are sharded */
} checkpoint_contents;

/* Everything that a checkpoint keeps.  `clock` has CLOCK_SIZE numbers and outlives *ret.  Sharded slots
 * come together: for saving, the shard that is a rank's to write by `shards`; for loading, which is NULL,
 * as places that contents_spread takes this rank's shards of.  All ranks call it. */
TUTTI_NODISCARD tutti_status contents_collect(trainer *t, const contents_shards *shards,
                                              int64_t *clock, checkpoint_contents *ret,
                                              tutti_error *err);
/* Leaves weights, if these alone are wanted, and of all what no pattern matches; NULL: none, else a NULL ends them. */
void contents_select(checkpoint_contents *k, bool weights, const char *const *ignore);
/* Leaves what `rank` writes. */
void contents_keep(checkpoint_contents *k, int32_t rank);
TUTTI_NODISCARD tutti_status contents_spread(trainer *t, const checkpoint_contents *k,
                                             tutti_error *err);
/* Copies to the host what lies on a device, for writing; with `copies` everything, which may then change. */
TUTTI_NODISCARD tutti_status contents_to_host(const trainer *t, checkpoint_contents *k,
                                              bool copies, tutti_error *err);
void contents_fini(checkpoint_contents *k); /* also of zeros */

void clock_write(const trainer *t, int64_t *clock);
void clock_read(trainer *t, const int64_t *clock);

#endif
