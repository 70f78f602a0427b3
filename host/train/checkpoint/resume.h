/* resume.h - a run as a checkpoint, and taken up from one. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_CHECKPOINT_RESUME_H
#define HOST_TRAIN_CHECKPOINT_RESUME_H

#include "train/step/trainer_state.h"

/* Of the training data; 0 without. */
int64_t trainer_samples(const trainer *t);
/* All ranks call these, settle if it waits; they fail on all where rank 0 cannot write.  As tutti.checkpoint/1 has
 * them. */
TUTTI_NODISCARD tutti_status trainer_save(trainer *t, const char *path,
                                          const tutti_save_part *part, tutti_error *err);
TUTTI_NODISCARD tutti_status trainer_settle(trainer *t, bool wait, bool *ret_whole,
                                            tutti_error *err);
/* Waits for what is written behind; a failure is told. */
void trainer_end_saving(trainer *t);
TUTTI_NODISCARD tutti_status trainer_load(trainer *t, const char *path, tutti_error *err);

#endif
