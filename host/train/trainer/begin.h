/* begin.h - what comes before the first event of a run. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_TRAINER_BEGIN_H
#define HOST_TRAIN_TRAINER_BEGIN_H

#include "train/step/trainer_state.h"

/* All that comes before the first event of fit, eval or predict: INIT, the checkpoint, the load
 * events.  `resume` as in trainer_fit. */
TUTTI_NODISCARD tutti_status trainer_begin(trainer *t, const char *resume, tutti_error *err);
/* Nobody else writes to `folder` until the trainer is destroyed.  Errors: E_STATE names who does now. */
TUTTI_NODISCARD tutti_status trainer_claim(trainer *t, const char *folder, tutti_error *err);

#endif
