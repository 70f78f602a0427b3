/* plan_step.h - one plan, bound to a batch and run by segments. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_STEP_PLAN_STEP_H
#define HOST_TRAIN_STEP_PLAN_STEP_H

#include "graph/plan/plan.h"
#include "graph/runtime/graph_capture.h"
#include "train/context/batch.h"

#include <stdbool.h>

typedef struct trainer trainer; /* step/trainer_state.h */

/* The plans of the microbatch under way. */
typedef struct step_plans {
    plan *forward;
    plan *loss;    /* over the same forward pass; another one where targets have changed */
    plan *watched; /* whose backward pass begins sums over the ranks; NULL: none */
    bool apart;    /* that pass is no part of a graph with others */
    struct slot_runs *slots; /* that run side by side: slot_runs.h; NULL: none have */
    capture_log captures;    /* as told last: device_report.h */
    float loss_scale;
    bool updated;             /* the update was part of the last segment */
    bool counts;              /* somebody asks for `flops` */
    double flops;             /* of this process, for the batch */
    const program *described; /* by tutti.plan/1, in this batch; NULL: none */
    const plan *valued;       /* whose program that is; NULL: of one that was refused */
    const program
        *refused;      /* of a plan that does not fit, while plugins hear of it; else NULL */
    bool refusal_told; /* they have; memory_observers.h */
    const char
        *outputs_reader; /* who may look at a step's outputs when it is over; NULL: nobody */
} step_plans;

/* A step is SEGMENT_FORWARD, SEGMENT_LOSS, SEGMENT_BACKWARD and this, with events in between. */
enum { SEGMENT_UPDATE = SEGMENT_COUNT };

/* REMATERIALIZE_* of the run file. */
int trainer_recompute(const trainer *t);
/* What net_plan is asked for: the columns of `b` that the model names.  Errors: E_NOTFOUND. */
TUTTI_NODISCARD tutti_status trainer_request(trainer *t, int kind, batch *b,
                                             plan_request *ret_request, tutti_error *err);
/* Points the plan's inputs, or targets, at the batch; copies what is not aligned or not there. */
TUTTI_NODISCARD tutti_status trainer_bind_inputs(trainer *t, plan *p, batch *b,
                                                 tutti_error *err);
TUTTI_NODISCARD tutti_status trainer_bind_targets(trainer *t, plan *p, batch *b,
                                                  tutti_error *err);
/* What the loss of `p`, which counts `weight` in the batch's, is multiplied by: plans.loss_scale for its run. */
TUTTI_NODISCARD tutti_status trainer_aim_scale(trainer *t, plan *p, double weight,
                                               tutti_error *err);
/* A tensor of a batch, as input k of the model, to `to` on the run's device. */
TUTTI_NODISCARD tutti_status trainer_send_input(trainer *t, uint32_t k, void *to,
                                                const tutti_tensor *from, tutti_error *err);
/* The last segment that runs as one with `first`, because nobody hears the events in between; `last`:
 * of the batch's last microbatch. */
int trainer_merges(const trainer *t, int first, bool last);
/* Nobody looks at the outputs of a step on a device before its backward pass is over. */
bool trainer_hides_outputs(const trainer *t);
/* Nobody looks at the outputs of a step, on a device or here, from its forward pass on: their gradients may lie where they
 * lay.  *ret_reader (or NULL): who may, where that is all that prevents it; else NULL. */
bool trainer_spends_outputs(const trainer *t, const char **ret_reader);
/* Notes that `who` has asked for a service by which it can look. */
void trainer_reads_outputs(trainer *t, const instance *i, const char *interface_id);
/* One segment, with what open mirrors have for it. */
TUTTI_NODISCARD tutti_status trainer_run(trainer *t, plan *p, int segment, float loss_scale,
                                         tutti_error *err);
/* Segments `first` to `last` as one. */
TUTTI_NODISCARD tutti_status trainer_run_merged(trainer *t, plan *p, int first, int last,
                                                tutti_error *err);

#endif
