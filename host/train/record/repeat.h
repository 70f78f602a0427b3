/* repeat.h - a run as its record has it, for a run that repeats it. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_RECORD_REPEAT_H
#define HOST_TRAIN_RECORD_REPEAT_H

#include "tutti/base.h"

#include <stdbool.h>

typedef struct trainer trainer; /* step/trainer_state.h */
typedef struct run_repeat run_repeat;

/* Reads the record in a run's folder.  The caller frees *ret.  Errors: E_NOTFOUND there is none; E_FORMAT what lies
 * there is no record, or one of `tutti run`; those of json_read.  [control] */
TUTTI_NODISCARD tutti_status run_repeat_open(const char *folder, run_repeat **ret,
                                             tutti_error *err);
void run_repeat_free(run_repeat *r); /* NULL is allowed */

const char *run_repeat_path(const run_repeat *r);   /* of the record */
const char *run_repeat_text(const run_repeat *r);   /* the run file, overrides applied */
const char *run_repeat_folder(const run_repeat *r); /* where its relative paths count from */
const char *run_repeat_name(const run_repeat *r);
/* How the run began: the checkpoint that it was taken up from, NULL for a fresh start; --duration, or NULL. */
const char *run_repeat_resume(const run_repeat *r);
const char *run_repeat_duration(const run_repeat *r);
bool run_repeat_resets_time(const run_repeat *r);

/* Takes up what the run computed with, before any plan is made.  What cannot be kept is a warning; what changes bits
 * is E_STATE, or with `accept` a warning.  [control] */
TUTTI_NODISCARD tutti_status run_repeat_take(trainer *t, bool accept, tutti_error *err);

#endif
