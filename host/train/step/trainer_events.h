/* trainer_events.h - firing an event of a run; when training ends. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_STEP_TRAINER_EVENTS_H
#define HOST_TRAIN_STEP_TRAINER_EVENTS_H

#include "tutti/base.h"

#include <stdbool.h>

typedef struct trainer trainer; /* step/trainer_state.h */

/* Fires `event`, then takes up what plugins have written to host mirrors.  [step] */
TUTTI_NODISCARD tutti_status trainer_event(trainer *t, int32_t event, tutti_error *err);
/* Whether training ends here: max_duration is over, or a signal has come. */
bool trainer_done(const trainer *t);

/* Whether epochs can be counted: iterations of tokens begin the data anew, and where each ends inside an
 * epoch no epoch ever does.  E_ARG.  [control] */
TUTTI_NODISCARD tutti_status trainer_check_epochs(const trainer *t, tutti_error *err);

#endif
