/* plan.h - the plans of a net: compiled for one shape of batch, run by segments. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_GRAPH_PLAN_PLAN_H
#define HOST_GRAPH_PLAN_PLAN_H

#include "graph/net/net.h"
#include "graph/program/program.h"
#include "tutti/activations.h"
#include "tutti/plan.h"

typedef struct plan plan; /* opaque; owned by its net */

enum {
    PLAN_TRAIN,     /* forward, loss, backward; gradients are written */
    PLAN_TRAIN_ADD, /* the same; gradients are added to */
    PLAN_LOSSES,    /* training-mode forward and one loss a sample, no gradients */
    PLAN_EVAL,      /* evaluation-mode forward and mean loss (0 targets: no loss) */
    PLAN_CONTINUE, /* evaluation-mode forward of the next tokens of sequences, whose keys and values are
                       kept from run to run; no loss.  The last input is their positions, I32 (T) */
};
enum { SEGMENT_FORWARD, SEGMENT_LOSS, SEGMENT_BACKWARD, SEGMENT_COUNT };

typedef struct plan_request {
    int kind; /* PLAN_* */
    uint32_t ninputs;
    uint32_t ntargets;
    /* TRAIN, TRAIN_ADD: 1: nobody looks at the outputs between forward and backward pass; where the device multiplies in
     * 16 bits they then stay as the product gave them, and the loss reads that. */
    uint32_t half_outputs;
    /* The same: 1: nor behind the loss.  Their gradients then lie where they lay, as far as loss and model can do with
     * that, and plan_output gives no data. */
    uint32_t spends_outputs;
    uint32_t reserved;
    tutti_desc inputs[TUTTI_MAX_COLUMNS];
    tutti_desc targets[TUTTI_MAX_COLUMNS];
    int64_t
        context; /* CONTINUE: how long sequences may become where the model does not bound them */
} plan_request;

/* The plan for these shapes, from the cache or newly traced, differentiated, scheduled and laid
 * out.  Valid until commit changes the tree, or at least eight plans for other inputs have been asked
 * for since: then one over the limit of net_set_plan_limit may be dropped.  E_NOMEM: "... needs 12.3 GiB, 8.0 GiB are available"
 * (limit set by net_set_memory_limit).  Errors of shapes name module path and op.  [control] */
TUTTI_NODISCARD tutti_status net_plan(net *n, const plan_request *request, plan **ret_plan,
                                      tutti_error *err);
void net_set_memory_limit(net *n, uint64_t bytes); /* 0: what the system says is available */
/* What plans may hold beside the arena that they share, before the least recently used ones are
 * dropped; 0: 1 GiB. */
void net_set_plan_limit(net *n, uint64_t bytes);

typedef struct net_plan_counts {
    uint64_t built;   /* in the net's life: what the cache did not have */
    uint64_t dropped; /* for the limit: forward passes with all their losses */
    uint64_t plans;   /* there now */
    uint64_t bytes;   /* that they hold beside the arena */
} net_plan_counts;
net_plan_counts net_count_plans(const net *n);

/* Where input or target k lies; the caller writes there, or points the plan elsewhere: `data` must
 * then stay valid during the runs, 64-byte aligned; NULL goes back to the plan's own memory.  That
 * is taken when it is first asked for; `data` is NULL when there is none left.  Plans that differ
 * in their targets alone share inputs, forward pass and outputs: a segment of one may follow that
 * of another, as when a target changes its shape between forward and loss. */
tutti_tensor plan_input(plan *p, uint32_t k);
tutti_tensor plan_target(plan *p, uint32_t k);
void plan_set_input(plan *p, uint32_t k, const void *data);
void plan_set_target(plan *p, uint32_t k, const void *data);
/* Results; valid until a plan for other inputs or of another kind is made or runs.  Outputs may be
 * changed in place before SEGMENT_LOSS.  `data` is NULL where they stay in 16 bits: plan_expand_output then
 * makes a copy as others see it, and is to be called again after the next run.  Where the request spends them `data` is
 * NULL, and plan_expand_output gives E_STATE. */
tutti_tensor plan_output(plan *p, uint32_t k);
TUTTI_NODISCARD tutti_status plan_expand_output(plan *p, uint32_t k, const tutti_step *step,
                                                tutti_tensor *ret_output, tutti_error *err);
tutti_tensor plan_loss(plan *p); /* scalar f32; (B) for PLAN_LOSSES; no data without targets */
/* CONTINUE: how long sequences may become. */
int64_t plan_context(const plan *p);
uint32_t plan_noutputs(const plan *p);

/* Runs one segment.  SEGMENT_LOSS computes the loss, and its gradient for the outputs times
 * `loss_scale`; SEGMENT_BACKWARD goes on from there to the weights.  To blend a second target into
 * the loss see plan_blend_loss.  [step] */
TUTTI_NODISCARD tutti_status plan_run(plan *p, int segment, const tutti_step *step,
                                      float loss_scale, tutti_error *err);
/* Where a loss that is not finite comes from: the forward pass is run once more, on the host, to the first
 * result with a NaN or plus infinity.  The path of its module and its operation, borrowed; NULL for both
 * when there is none, or on a device.  [step] */
TUTTI_NODISCARD tutti_status plan_find_unsound(plan *p, const tutti_step *step,
                                               const char **ret_scope, const char **ret_op,
                                               tutti_error *err);
/* As tutti.activations/1 says, for the plan's inputs.  [step] */
TUTTI_NODISCARD tutti_status plan_activations(plan *p, const tutti_step *step,
                                              tutti_activation_fn each, void *each_ctx,
                                              tutti_error *err);
/* Where the plan reads the loss scale: who has something on the device write it there gives NAN as
 * `loss_scale` below, and elsewhere. */
float *plan_scale(plan *p);

/* What is to be done behind the last segment of a merged run.  It asks the device for nothing that
 * depends on more than these places, and cannot be gathered if it copies between host and device. */
enum { PLAN_TAIL_PLACES = 8 };
typedef struct plan_tail {
    tutti_status (*run)(void *ctx, tutti_error *err);
    void *ctx;
    const void *places[PLAN_TAIL_PLACES];
    uint32_t nplaces;
    uint32_t reserved;
} plan_tail;

/* Runs segments `first` to `last` and then the tail, if it is not NULL, as one: on a device that has
 * graphs, one graph.  Inputs and targets are those of this plan.  [step] */
TUTTI_NODISCARD tutti_status plan_run_merged(plan *p, int first, int last,
                                             const plan_tail *tail, const tutti_step *step,
                                             float loss_scale, tutti_error *err);
/* After SEGMENT_LOSS: loss and output gradients become (1 - weight) * what they are + weight * those
 * for `target` (here or on the device; shape and dtype may differ from the plan's).  [step] */
TUTTI_NODISCARD tutti_status plan_blend_loss(plan *p, const tutti_tensor *target, double weight,
                                             const tutti_step *step, float loss_scale,
                                             tutti_error *err);
/* The step of the backward pass, from 1, behind which nothing reads or writes numbers [first, first + count) of the
 * gradients' arena; 0: nothing does at all; UINT32_MAX: they are there when SEGMENT_BACKWARD is over.  [step] */
uint32_t plan_gradient_step(const plan *p, int64_t first, int64_t count);
/* Whether SEGMENT_BACKWARD has run before: what libraries prepare in their first run is there.  [step] */
bool plan_has_run_backward(const plan *p);
/* As program_watch, of SEGMENT_BACKWARD, which then runs apart from the other segments.  [step] */
void plan_watch_backward(plan *p, void (*passed)(void *ctx, uint32_t step), void *ctx,
                         const uint32_t *marks, uint32_t nmarks);
/* Steps of a segment, forward (0) or backward (1), that use numbers [first, first + count) of the weights' arena. */
program_use plan_weight_use(const plan *p, int32_t segment, int64_t first, int64_t count);
/* Whether these are all that use it: the plan runs on the host, without a penalty's own passes. */
bool plan_uses_weights_here(const plan *p);
/* Whether a penalty on gradients adds passes of its own. */
bool plan_has_penalty(const plan *p);
/* As program_reach, of these segments. */
void plan_reach(plan *p, void (*reached)(void *ctx, int32_t segment, uint32_t step), void *ctx);
/* Of the kind, shapes and dtypes that it was asked for: equal plans of ranks of one run have the same. */
uint64_t plan_shape(const plan *p);
/* Of all plans, from now on: who hears of each step that the host runs.  Borrowed; NULL ends it. */
void net_observe(net *n, const program_observer *o);
/* Whether the forward pass gives weight k of net_weight, a buffer, another value. */
bool plan_assigns(const plan *p, uint32_t k);
uint64_t plan_bytes(const plan *p); /* arena and scratch */
/* Of the model's forward and backward pass: where results lie, and how many steps there are. */
const program *plan_program(const plan *p);
/* Values of the model's graph, by tutti.plan/1; k is from 1 to their number.  Borrowed from the plan. */
uint32_t plan_nvalues(const plan *p);
void plan_value(const plan *p, uint32_t k, tutti_planned_value *ret_value);
double plan_flops(const plan *p); /* of products, convolutions and attention; 0 when unknown */
/* Steps that run by one library, or without one for one reason. */
typedef struct plan_choice {
    const tutti_op_choice
        *first; /* of the first of them; all below is borrowed from the plan */
    const char *op;
    const char *scope; /* the path of its module; "" for none */
    uint32_t steps;
} plan_choice;
/* Of all steps whose kernels tell, in the order of the first ones: at most `most`; how many. */
uint32_t plan_choices(const plan *p, plan_choice *ret_choices, uint32_t most);
/* How many steps a segment has, each at least one launch on a device. */
uint32_t plan_nsteps(const plan *p, int segment);
/* Whether the gradient of output k lies where the output lay. */
bool plan_output_is_spent(const plan *p, uint32_t k);
/* Writes sizes, nodes, steps with their places, and the arena's map as text. */
void plan_dump(const plan *p, FILE *file);
/* Writes what each operation moves in a step, by bytes: operands and results once each, as if no cache held them.
 * Errors: E_NOMEM. */
TUTTI_NODISCARD tutti_status plan_write_traffic(const plan *p, FILE *file, tutti_error *err);
/* Writes the nodes of model and loss as a drawing in Graphviz's language. */
void plan_draw(const plan *p, FILE *file);

#endif
