/* slot_runs.h - memory of a rank's slots that run side by side, and which of them the net's is now. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_STEP_SLOT_RUNS_H
#define HOST_TRAIN_STEP_SLOT_RUNS_H

#include "graph/plan/plan_workspace.h"

typedef struct trainer trainer; /* step/trainer_state.h */

/* One slot while others run.  The first one computes in the net's own memory. */
typedef struct slot_run {
    plan_workspace memory;
    plan *plan;
    plan *loss_plan;        /* over the same forward pass: targets may have changed */
    unsigned char *buffers; /* what the forward pass assigns, as this slot has it */
    double *numbers;        /* that its pass pauses with; NULL: the pass is over */
    int64_t slot;
    double share;  /* of the batch's samples */
    double loss;   /* by that */
    float scale;   /* of the loss's gradients */
    float value;   /* of the loss */
    uint32_t at;   /* where its pass goes on */
    uint32_t took; /* numbers of the pause */
} slot_run;

typedef struct slot_runs {
    slot_run *runs;
    int64_t count;    /* of the batch under way */
    int64_t capacity; /* of `runs` and `numbers` */
    double **numbers;
    uint32_t *assigned; /* weights of the net that the forward pass assigns */
    uint32_t nassigned;
    uint64_t buffer_bytes; /* of these */
} slot_runs;

/* Room for `count` slots.  Errors: E_NOMEM.  [step] */
TUTTI_NODISCARD tutti_status slot_runs_reserve(slot_runs *l, int64_t count, tutti_error *err);
void slot_runs_free(slot_runs *l); /* NULL is allowed */
/* Memory for one of these, whose plan is set; the first one's says what the forward pass assigns.  Buffers are what the net
 * has.  Errors: E_NOMEM.  [step] */
TUTTI_NODISCARD tutti_status slot_run_fit(trainer *t, slot_run *one, tutti_error *err);
/* Results, gradients, buffers and the batch's part of `size` samples are this slot's, up to slot_run_leave, also after an error.
 * Errors: those of trainer_bind_inputs.  [step] */
TUTTI_NODISCARD tutti_status slot_run_enter(trainer *t, slot_run *one, int64_t size,
                                            tutti_error *err);
void slot_run_leave(trainer *t, slot_run *one);

#endif
