/* evaluate.h - evaluations that are due, and those that events of a loop start. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_TRAINER_EVALUATE_H
#define HOST_TRAIN_TRAINER_EVALUATE_H

#include "train/generate/answers.h"

#include <stdbool.h>

typedef struct trainer trainer; /* step/trainer_state.h */

/* An evaluation that events of a loop start. */
typedef struct loop_evaluation {
    trainer *trainer;
    size_t number; /* of the evaluation */
    char name[80]; /* of its handler */
} loop_evaluation;

/* What evaluations have. */
typedef struct trainer_evaluation {
    loop_evaluation *on_events; /* of an engine file, one an evaluation */
    answers *answers;           /* of those that generate; NULL: none has begun */
} trainer_evaluation;

/* Composer's Trainer.eval: every evaluation once, whatever its interval. */
TUTTI_NODISCARD tutti_status trainer_evaluate_all(trainer *t, tutti_error *err);
/* Those whose intervals are due at `event` become owed, and are done unless a signal stops the run.  [step] */
TUTTI_NODISCARD tutti_status trainer_evaluate_due(trainer *t, int32_t event, tutti_error *err);
/* Whether a signal has kept an evaluation that was due, or was asked for, from being done to its end.  A checkpoint keeps
 * it.  [step] */
bool trainer_owes_evaluations(const trainer *t);
/* Does what is owed.  [step] */
TUTTI_NODISCARD tutti_status trainer_evaluate_owed(trainer *t, tutti_error *err);
/* Where a call in an event was left: the evaluations that were due behind that event become owed.  [step] */
TUTTI_NODISCARD tutti_status trainer_owe_evaluations(trainer *t, tutti_error *err);
/* Behind the last event of a run, which comes again when it goes on.  [step] */
void trainer_owe_no_evaluations(trainer *t);
/* Evaluation k at an event of a loop, or inside its process function; the training batch under way keeps
 * its columns, not its outputs.  E_STATE as training_evaluate.  [step] */
TUTTI_NODISCARD tutti_status trainer_evaluate_now(trainer *t, size_t k, tutti_error *err);
/* Evaluations of an engine file become handlers of the events that it names.  [control] */
TUTTI_NODISCARD tutti_status trainer_bind_evaluations(trainer *t, tutti_error *err);

/* The forward pass and the loss of the evaluation batch that is loaded; outputs and loss are then the state's.  [step] */
TUTTI_NODISCARD tutti_status trainer_evaluate_batch(trainer *t, tutti_error *err);
void evaluation_fini(trainer_evaluation *e);

#endif
