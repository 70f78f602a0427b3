/* microbatch.h - one microbatch of a batch: what it reads, and what metrics hear of it. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_STEP_MICROBATCH_H
#define HOST_TRAIN_STEP_MICROBATCH_H

#include "train/context/batch.h"

#include <stdbool.h>

typedef struct trainer trainer; /* step/trainer_state.h */

/* Whether the host wants each evaluation's loss at once, wherever it is.  Over several ranks it is that of all slots. */
bool trainer_looks(const trainer *t);
/* Whether training metrics are read when the device has done the step, not at once. */
bool trainer_measures_async(const trainer *t);
/* Microbatch `k` of `size` samples of the batch becomes the one under way; *saved_targets have its targets where metrics want
 * them.  [step] */
TUTTI_NODISCARD tutti_status trainer_begin_microbatch(trainer *t, slot *saved_targets,
                                                      int64_t k, int64_t size,
                                                      tutti_error *err);
/* The metrics hear of outputs and loss of the microbatch under way.  [step] */
TUTTI_NODISCARD tutti_status trainer_update_metrics(trainer *t, const slot *saved_targets,
                                                    tutti_error *err);

#endif
