/* begin.h - what comes before the first event of a run. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_TRAINER_BEGIN_H
#define HOST_TRAIN_TRAINER_BEGIN_H

#include "train/trainer/trainer.h"

/* Nobody else writes to `folder` until the trainer is destroyed.  Errors: E_STATE names who does now. */
TUTTI_NODISCARD tutti_status trainer_claim(trainer *t, const char *folder, tutti_error *err);

#endif
