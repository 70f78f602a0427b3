/* kept.h - what a checkpoint keeps of a run: named views of where it lives. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_KEPT_H
#define HOST_TRAIN_KEPT_H

#include "train/checkpoint.h"
#include "train/state_owners.h"

/* Tensors: "model.<path>", "optimizer.<slot>.<path>", "<owner>.<item>" (state_owners.h),
 * "evaluation.<label>": the batch at which it was last due, i64, "run.clock": the counters below, i64,
 * and with amp_fp16 "run.loss_scale".  Texts: "run" (the run file), the
 * provenance's, and "loop", what the driver of drive.h keeps. */
enum {
    CLOCK_FIELDS = 14,             /* counters of a timestamp: of now, before, last schedule */
    CLOCK_STEP = 3 * CLOCK_FIELDS, /* optimizer updates */
    CLOCK_HAS_PREVIOUS,
    CLOCK_SIZE
};

typedef struct kept {
    checkpoint_item *list;
    state_owner *owners; /* whose each item is; its instance is NULL: the run's own */
    char (*names)[192];
    size_t count;
    size_t room;
    unsigned char *staged; /* what lies on a device, for writing */
} kept;

/* Everything that a checkpoint keeps.  `clock` has CLOCK_SIZE numbers and outlives *ret. */
TUTTI_NODISCARD tutti_status kept_collect(trainer *t, int64_t *clock, kept *ret,
                                          tutti_error *err);
/* Copies to the host what lies on a device, for writing. */
TUTTI_NODISCARD tutti_status kept_bring(const trainer *t, kept *k, tutti_error *err);
void kept_fini(kept *k); /* also of zeros */

void clock_write(const trainer *t, int64_t *clock);
void clock_read(trainer *t, const int64_t *clock);

#endif
