/* reproduction.h - what decides the bits of a run besides its settings: kernels, threads, CPU. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_CHECKPOINT_REPRODUCTION_H
#define HOST_TRAIN_CHECKPOINT_REPRODUCTION_H

#include "train/checkpoint_file/checkpoint.h"
#include "train/context/machine_text.h"
#include "train/context/step_tensors.h"

/* As a checkpoint's metadata keeps it. */
typedef struct reproduction {
    char *kernels; /* which computes each call */
    char threads[16];
    char microbatch[24];
    char machine[MACHINE_TEXT];
} reproduction;

/* Refuses a run that is to compute the same bits anywhere on a device or CPU that cannot. */
TUTTI_NODISCARD tutti_status reproduction_check(const run_context *run, tutti_error *err);

TUTTI_NODISCARD tutti_status reproduction_write(const run_context *run, const step_tensors *x,
                                                reproduction *ret, tutti_error *err);
void reproduction_fini(reproduction *r);

/* The same as it was read: of a checkpoint's metadata or of a run's record.  Borrowed. */
typedef struct reproduction_texts {
    const char *kernels;
    const char *machine;
    const char *threads;
    const char *microbatch;
} reproduction_texts;

/* Takes up what the run of `c` computed with, before any plan is made.  Where that cannot be, this run's
 * results differ in their last bits: E_STATE says why, or with `accept` a warning; then *ret_same
 * is false.  [control] */
TUTTI_NODISCARD tutti_status reproduction_restore(run_context *run, step_tensors *x,
                                                  const char *path, const checkpoint *c,
                                                  bool accept, bool *ret_same,
                                                  tutti_error *err);
/* The same with what `then` says, which has every member; `path` names it in messages. */
TUTTI_NODISCARD tutti_status reproduction_take(run_context *run, step_tensors *x,
                                               const char *path, const reproduction_texts *then,
                                               bool accept, bool *ret_same, tutti_error *err);
/* Also the choices that reproduction_keep has kept in `folder`, where there are any. */
TUTTI_NODISCARD tutti_status reproduction_take_later(run_context *run, const char *folder,
                                                     tutti_error *err);
/* Kernels for shapes that the run meets later are kept in `folder`, where its checkpoints are, as soon as
 * they are chosen. */
TUTTI_NODISCARD tutti_status reproduction_keep(run_context *run, const char *folder,
                                               tutti_error *err);
/* After the training plans were made, of a run that was restored without a warning: the same where
 * kernels of the checkpoint are not those of this program. */
TUTTI_NODISCARD tutti_status reproduction_confirm(run_context *run, bool accept,
                                                  tutti_error *err);

#endif
