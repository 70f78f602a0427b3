/* progress.h - what a checkpoint keeps of a run beside tensors: last values of metrics, counts of events. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_CHECKPOINT_PROGRESS_H
#define HOST_TRAIN_CHECKPOINT_PROGRESS_H

#include "train/step/trainer_state.h"

#define PROGRESS_KEY "progress"

/* {"values": {name: [last, least, most]}, "counts": {event: n}, "held": event, "traces": {file: [bytes, hash]}}: values that the same run logs again, as
 * texts where they are not finite; counts of events that no clock counts; the
 * event of engine_hold, if any; what was on the disk of traces.  The caller frees *ret_text.  Errors: E_NOMEM.  [control] */
TUTTI_NODISCARD tutti_status progress_text(const trainer *t, char **ret_text, tutti_error *err);
/* Takes up what `text`, of the file at `path`, holds.  Names that this run does not have are left out.  Errors: E_FORMAT.
 * [control] */
TUTTI_NODISCARD tutti_status progress_take(trainer *t, const char *path, const char *text,
                                           tutti_error *err);

#endif
