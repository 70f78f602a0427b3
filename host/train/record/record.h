/* record.h - what a run's folder tells of the run: all that repeats it, and what came of it. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_RECORD_RECORD_H
#define HOST_TRAIN_RECORD_RECORD_H

#include "train/step/trainer_state.h"

/* Of the file in a run's folder. */
#define RECORD_FILE "record.json"
#define RECORD_FORMAT "tutti.record/1"
#define RECORD_FINISHED "finished" /* the status of a run that came to its end */

/* Writes the record of a run that begins, in the place of one that an earlier run of that name has left; a run that
 * is taken up keeps how it once began.  Nothing happens where the run keeps no record.  A record that cannot be
 * written is a warning.  [control] */
void record_begin(trainer *t);
/* There is more to do although an attempt before this one finished the run: its record gives way now.  [control] */
void record_anew(trainer *t);
/* The same again, with the kernels that compute the run and what its memory goes to, which `p`, the plan of a microbatch,
 * tells; kernels that it chooses later are kept in its folder.  `p` is NULL where there is no model. */
void record_plan(trainer *t, const plan *p);
/* The same with what came of the run: `s` and the sentence of its error, NULL without one.  [control] */
void record_end(trainer *t, tutti_status s, const char *why);

#endif
