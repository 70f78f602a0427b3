/* train_step.h - one batch: its microbatches, then the update. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_STEP_TRAIN_STEP_H
#define HOST_TRAIN_STEP_TRAIN_STEP_H

#include "tutti/base.h"

#include <stdbool.h>

typedef struct trainer trainer; /* step/trainer_state.h */

/* With microbatch_size "auto", after `err` says that memory is out: halves it, clears `err`, and says
 * so; false when it cannot. */
bool trainer_halve(trainer *t, tutti_error *err);
/* Of batches of `all` samples in microbatches of `size` this rank has several, and weights are here from one to the next. */
bool trainer_weights_stay(const trainer *t, int64_t all, int64_t size);
TUTTI_NODISCARD tutti_status trainer_step_batch(trainer *t, tutti_error *err);
/* Whether gradients are summed over the ranks while the backward pass runs: nobody looks at a slot's own. */
bool trainer_overlaps(const trainer *t);

#endif
