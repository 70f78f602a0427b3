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
    plan *loss_plan; /* over the same forward pass: targets may have changed */
    uint64_t buffers_bytes;
    void *buffers;                   /* what the forward pass assigns, as this slot has it */
    void *inputs[TUTTI_MAX_COLUMNS]; /* on a device: its samples; NULL: none yet */
    uint64_t input_bytes[TUTTI_MAX_COLUMNS];
    double *numbers; /* where its pass pauses with them; NULL: the pass is over */
    int64_t slot;
    double share;  /* of the batch's samples */
    double loss;   /* by that */
    float value;   /* of the loss */
    uint32_t at;   /* where its pass goes on */
    uint32_t took; /* numbers of the pause */
} slot_run;

typedef struct slot_runs {
    slot_run *runs;
    int64_t count;              /* of the batch under way */
    int64_t capacity;           /* of `runs` and `numbers` */
    double **numbers;           /* of each, on the host */
    double *staged;             /* on a device: memory of these */
    uint64_t nstaged;           /* numbers that fit there */
    const tutti_device *device; /* where all else is; NULL: the host */
    uint32_t *assigned;         /* weights of the net that the forward pass assigns */
    uint32_t nassigned;
    uint64_t buffer_bytes; /* of these */
} slot_runs;

/* Room for `count` slots.  Errors: E_NOMEM.  [step] */
TUTTI_NODISCARD tutti_status slot_runs_reserve(slot_runs *l, int64_t count, tutti_error *err);
void slot_runs_free(slot_runs *l); /* NULL is allowed */
/* Memory for one of these, whose plan is set; the first one's says what the forward pass assigns.  Buffers are what the net
 * has, samples those of the microbatch that has begun.  Errors: E_NOMEM.  [step] */
TUTTI_NODISCARD tutti_status slot_run_fit(trainer *t, slot_run *one, tutti_error *err);
/* Results, gradients, buffers and the batch's part of `size` samples are this slot's, up to slot_run_leave, also after an error.
 * Errors: those of trainer_bind_inputs.  [step] */
TUTTI_NODISCARD tutti_status slot_run_enter(trainer *t, slot_run *one, int64_t size,
                                            tutti_error *err);
TUTTI_NODISCARD tutti_status slot_run_leave(trainer *t, slot_run *one, tutti_error *err);
/* Of all slots, which pause with `count` numbers each: `numbers` has them, on the host, until slot_runs_put.  Errors: E_NOMEM,
 * those of the device, which has done all up to there.  [step] */
TUTTI_NODISCARD tutti_status slot_runs_get(slot_runs *l, int64_t count, tutti_error *err);
/* The slots go on with what `numbers` has now. */
TUTTI_NODISCARD tutti_status slot_runs_put(slot_runs *l, int64_t count, tutti_error *err);

#endif
