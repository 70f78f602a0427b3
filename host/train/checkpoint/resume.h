/* resume.h - a run as a checkpoint, and taken up from one. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_CHECKPOINT_RESUME_H
#define HOST_TRAIN_CHECKPOINT_RESUME_H

#include "tutti/checkpoint.h"

#include <stdbool.h>

typedef struct trainer trainer; /* step/trainer_state.h */

/* How a checkpoint is taken up, and what came of it. */
typedef struct trainer_resume {
    bool accept_bits; /* one that other kernels computed is taken up */
    bool strict;      /* one of other settings is refused */
    bool same;        /* this run's kernels computed it too */
    bool anew;        /* the clock of the checkpoint is set to 0: the run is another one */
    bool whole;       /* one is loaded whole before the run begins */
    bool unended;     /* an attempt before this one has not come to the run's end */
    bool ended;       /* one has, at the batch of the checkpoint that is taken up */
    bool over;        /* nothing is left to do */
    /* A batch or an epoch has been counted, and its checkpoint event is still to come.  `tutti run` knows that by the
     * evaluations that it owes. */
    bool left;
    bool iteration_left; /* likewise an iteration */
    bool some_evaluated; /* of the evaluations that were due together, while others are owed */
    bool midway;  /* "auto" takes it up behind all ends that attempts before this one came to */
    bool stopped; /* midway, and stop_training was called before the checkpoint was written */
    bool ending;  /* FIT_END is fired; a run that goes on fires it again */
} trainer_resume;

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
