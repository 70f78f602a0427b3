/* settings_check.h - what a run file says otherwise than the one that a checkpoint was written with. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_CHECKPOINT_SETTINGS_CHECK_H
#define HOST_TRAIN_CHECKPOINT_SETTINGS_CHECK_H

#include "train/checkpoint_file/checkpoint.h"
#include "train/context/run_context.h"

/* Compares what decides results (not: what is logged, saved, evaluated, and for how long) and the number
 * of training samples.  Differences are one warning, or with `strict` E_ARG.  [control] */
TUTTI_NODISCARD tutti_status settings_check(run_context *run, int64_t samples, const char *path,
                                            const checkpoint *c, bool strict, tutti_error *err);

#endif
