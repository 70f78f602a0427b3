/* progress.h - what a checkpoint keeps of a run beside tensors: last values of metrics, counts of events. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_CHECKPOINT_PROGRESS_H
#define HOST_TRAIN_CHECKPOINT_PROGRESS_H

#include "tutti/base.h"

#include <stdbool.h>

typedef struct trainer trainer; /* step/trainer_state.h */

#define PROGRESS_KEY "progress"

/* {"values": {name: [last, least, most]}, "counts": {event: n}, "held": event, "some_evaluated": true, "traces": {file:
 * [bytes, hash]}, "logged": [[unit, kind, event, step, name]], "folder": path}: values that the same run
 * logs again, as texts where they are not finite; counts of events that no clock counts; the event of engine_hold, if any; whether an evaluation is done beside
 * those that are owed; what was on the disk of traces, but of a batch or an evaluation under way; rows that loggers of
 * the run in that folder have of these (context/log_units.h).  The caller frees *ret_text.  Errors: E_NOMEM.  [control] */
TUTTI_NODISCARD tutti_status progress_text(const trainer *t, char **ret_text, tutti_error *err);
/* Takes up what `text`, of the file at `path`, holds; `own`: this run wrote it.  Names that this run does
 * not have are left out.  Errors: E_FORMAT.  [control] */
TUTTI_NODISCARD tutti_status progress_take(trainer *t, const char *path, const char *text,
                                           bool own, tutti_error *err);

#endif
