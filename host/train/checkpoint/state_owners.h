/* state_owners.h - the objects whose own state a checkpoint keeps, each under a name of its own. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_CHECKPOINT_STATE_OWNERS_H
#define HOST_TRAIN_CHECKPOINT_STATE_OWNERS_H

#include "plugin/registry.h"

#include <stdbool.h>

typedef struct trainer trainer; /* step/trainer_state.h */

/* Participants are "<kind>.<instance>".  What provides is "provider.model", "provider.optimizer.<group>",
 * "provider.scheduler.<number>", and of the training data and of every evaluation "provider.dataset.<label>",
 * "provider.transform.<label>.<number>" and "provider.metric.<label>.<instance>"; `label` is "train" or the
 * evaluation's. */
typedef struct state_owner {
    instance *instance; /* borrowed */
    char label[160];
} state_owner;

/* The k-th object of the run, in a fixed order; false past the last. */
bool state_owner_at(const trainer *t, size_t k, state_owner *ret_owner);

/* All of them, one line each: the label with a space in the place of its first dot.  The caller frees it;
 * NULL: no memory. */
char *state_owners_text(const trainer *t);

#endif
