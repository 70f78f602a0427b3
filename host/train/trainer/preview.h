/* preview.h - the plan of a training step before any. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_TRAINER_PREVIEW_H
#define HOST_TRAIN_TRAINER_PREVIEW_H

#include "graph/plan/plan.h"

typedef struct trainer trainer; /* step/trainer_state.h */

/* The plan of a training step, or of a microbatch of it, before any.  [control] */
TUTTI_NODISCARD tutti_status trainer_preview_plan(trainer *t, plan **ret_plan,
                                                  tutti_error *err);

#endif
