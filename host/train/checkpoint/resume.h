/* resume.h - a run as a checkpoint, and taken up from one. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_CHECKPOINT_RESUME_H
#define HOST_TRAIN_CHECKPOINT_RESUME_H

#include "train/step/trainer_state.h"

/* Of the training data; 0 without. */
int64_t trainer_samples(const trainer *t);
/* All ranks call it; it fails on all where rank 0 cannot write. */
TUTTI_NODISCARD tutti_status trainer_save(trainer *t, const char *path, tutti_error *err);
TUTTI_NODISCARD tutti_status trainer_load(trainer *t, const char *path, tutti_error *err);

#endif
