/* load.h - parts of a file into the run: weights that it starts from, and what plugins ask for. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_CHECKPOINT_LOAD_H
#define HOST_TRAIN_CHECKPOINT_LOAD_H

#include "train/run_file/run_file.h"
#include "tutti/checkpoint.h"

typedef struct trainer trainer; /* step/trainer_state.h */

/* Weights of the file at `path`, by the rules; says what was not taken.  Errors: those of pretrained_take.  [step] */
TUTTI_NODISCARD tutti_status trainer_load_weights(trainer *t, const char *path,
                                                  const run_checkpoints *rules,
                                                  tutti_error *err);
/* As tutti.checkpoint/1 has it. */
TUTTI_NODISCARD tutti_status trainer_load_part(trainer *t, const char *path,
                                               const tutti_load *how, tutti_error *err);

#endif
