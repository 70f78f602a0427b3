/* restore.h - putting what a checkpoint holds into the run. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_CHECKPOINT_RESTORE_H
#define HOST_TRAIN_CHECKPOINT_RESTORE_H

#include "train/checkpoint/checkpoint_contents.h"
#include "train/run_file/run_file.h"

/* Copies what `c`, the file at `path`, has of the items of `v` to where they live, by `rules`:
 * names that it ignores and the state of algorithms that it excludes begin anew; so do weights that do not fit,
 * with their optimizer state, unless it is strict.  What is not taken is told.  Objects then hear that they are
 * restored.  With `weights` nothing else is wanted.  Errors, before anything is copied: E_NOTFOUND the file lacks something; E_SHAPE.  [control] */
TUTTI_NODISCARD tutti_status contents_restore(trainer *t, const char *path, const checkpoint *c,
                                              const checkpoint_contents *v,
                                              const run_checkpoints *rules, bool weights,
                                              tutti_error *err);

#endif
