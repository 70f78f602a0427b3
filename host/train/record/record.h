/* record.h - what a run's folder tells of the run: all that repeats it, and what came of it. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_RECORD_RECORD_H
#define HOST_TRAIN_RECORD_RECORD_H

#include "graph/plan/plan.h"

#include <stdbool.h>

typedef struct trainer trainer;       /* step/trainer_state.h */
typedef struct run_repeat run_repeat; /* repeat.h */

/* What the run's folder tells of the run. */
typedef struct run_record {
    const char *version; /* of the program, borrowed; NULL: no record is kept */
    char *start;         /* how the first attempt was started, as JSON */
    char *attempts;      /* those before this one, as JSON; NULL: none */
    char *run;           /* the run file, as the record has it; NULL: nothing is written yet */
    char *memory;        /* what memory goes to, as JSON; NULL: not known */
    double started;      /* Unix seconds */
    const run_repeat *repeats; /* the run that this one repeats, borrowed, or NULL */
    bool resumes;              /* this attempt goes on from a checkpoint of the run */
    bool unended; /* as the record has it, an attempt before this one was not finished */
    bool
        finished; /* the attempt before this one was; its record stays until there is more to do */
    int64_t ended_at;    /* batches of one that was, of these settings; 0: none was */
    int64_t finished_at; /* the most of any that was, of whatever settings */
    bool planned;        /* kernels are chosen */
    bool broken;         /* it cannot be written, which has been said */
} run_record;

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
void record_fini(run_record *r);

#endif
