/* trainer_events.h - firing an event of a run. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_STEP_TRAINER_EVENTS_H
#define HOST_TRAIN_STEP_TRAINER_EVENTS_H

#include "tutti/base.h"

typedef struct trainer trainer; /* step/trainer_state.h */

/* Fires `event`, then takes up what plugins have written to host mirrors.  [step] */
TUTTI_NODISCARD tutti_status trainer_event(trainer *t, int32_t event, tutti_error *err);

#endif
