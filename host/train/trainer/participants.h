/* participants.h - opening what takes part in a run's events. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_TRAINER_PARTICIPANTS_H
#define HOST_TRAIN_TRAINER_PARTICIPANTS_H

#include "tutti/base.h"

typedef struct trainer trainer; /* step/trainer_state.h */

/* Opens the engine, and everything that hears events, in the order of their turns; loggers on rank 0 alone.  Errors: those of
 * the plugins.  [control] */
TUTTI_NODISCARD tutti_status trainer_open_participants(trainer *t, tutti_error *err);

#endif
