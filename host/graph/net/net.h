/* net.h - a model: its module tree, weights and buffers, and the plans that run it. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_GRAPH_NET_NET_H
#define HOST_GRAPH_NET_NET_H

#include "plugin/registry.h"
#include "tutti/model.h"
#include "tutti/module.h"
#include "tutti/op.h"
#include "tutti/weights.h"
#include "tutti_host/device.h"

#include <stdbool.h>
#include <stdio.h>

typedef struct net net;   /* opaque */
typedef struct plan plan; /* opaque; owned by its net */

/* What activations are stored in and products are made of; weights, their gradients, the model's
 * outputs and the loss are f32 in all of them (precision.h). */
enum { NET_FP32, NET_AMP_BF16, NET_AMP_FP16, NET_FP32_FAST };

/* How products read trainable weights in the two of 16 bits. */
enum {
    NET_HALF_BEST, /* on a GPU by copies; elsewhere, where products are made in f32, as they are */
    NET_HALF_NODES,  /* each run rounds them */
    NET_HALF_COPIES, /* rounded once, beside the arena of weights: net_half_weights */
};

typedef struct net_options {
    const tutti_op *const *ops; /* NULL-terminated table of the built-in operations */
    registry *layers;           /* where module kinds come from; may be NULL (tests) */
    service_fn services;        /* for layer instances */
    void *services_ctx;
    uint64_t seed;
    int threads;
    int precision;     /* NET_* */
    int half;          /* NET_HALF_* */
    int rematerialize; /* REMATERIALIZE_* of rematerialization.h */
    const char
        *tune_file; /* where measured choices of kernels are kept; NULL: none are measured */
    const tutti_device *device; /* where weights lie and plans run; NULL: here */
    /* What tutti.module/1 tells of a weight on the device may be made something else, with
     * services_ctx; NULL: it is told as it is. */
    tutti_status (*see_weight)(void *ctx, tutti_tensor *weight, tutti_error *err);
    void (*wrote_weight)(void *ctx); /* tutti.module/1 has changed one there; may be NULL */
} net_options;

TUTTI_NODISCARD tutti_status net_create(const net_options *options, net **ret_net,
                                        tutti_error *err);
void net_destroy(net *n); /* NULL is allowed */
/* As in the options.  Memory of its own is out of the host's reach: weights, gradients, inputs, outputs
 * and losses are then copied with the device's calls. */
const tutti_device *net_device(const net *n);

/* The operation of that name in the options' table, or NULL. */
const tutti_op *net_op(const net *n, const char *name);

/* Builds the tree of an opened model (kind "model") for samples of these columns.  [control] */
TUTTI_NODISCARD tutti_status net_build(net *n, instance *model, const tutti_column *columns,
                                       uint32_t ncolumns, tutti_error *err);
/* The surgery service for plugins; lives with the net. */
const tutti_module_v1 *net_modules(net *n);

/* Trainable weights of one group lie together in the arenas, groups in the order of their numbers;
 * `path` is the weight's.  For commits from now on.  [control] */
typedef uint32_t (*net_group_fn)(const void *ctx, const char *path);
void net_set_groups(net *n, net_group_fn group, const void *ctx);

/* Ends a surgery: weights are gathered into flat arenas (weights, gradients; trainable ones first, in
 * each group in the order in which the backward pass completes them: by a trace where the columns
 * of net_build allow one, by the tree otherwise), plans of the old tree are dropped, version
 * goes up if anything changed.  Values survive.  [control] */
TUTTI_NODISCARD tutti_status net_commit(net *n, tutti_error *err);
uint64_t net_version(const net *n);
/* Weights and buffers in arena order; views valid until the next commit that changes something. */
uint32_t net_weight_count(const net *n);
const tutti_weight *net_weight(const net *n, uint32_t k);
/* Whether weight k could be trained but is frozen; freezing it, from the next commit on.  [control] */
bool net_frozen(const net *n, uint32_t k);
void net_freeze(net *n, uint32_t k);
/* The flat arena of trainable weights and its gradients: *ret_count f32 each (padding between
 * weights, if any, stays 0). */
void net_arena(net *n, float **ret_weights, float **ret_grads, int64_t *ret_count);
/* The same weights in 16 bits, each at its offset, for who updates them to write too; NULL where products
 * do not read such copies.  *ret_dtype: TUTTI_BF16 or TUTTI_F16. */
uint16_t *net_half_weights(const net *n, int32_t *ret_dtype);
/* All there is in 16 bits, for products to read: made once, and when it is old. */
typedef struct net_half_counts {
    uint32_t trained, frozen; /* weights */
    uint64_t bytes;
    int32_t dtype; /* TUTTI_DTYPE_NONE: nothing */
    int32_t reserved;
} net_half_counts;
net_half_counts net_count_half(const net *n);
/* Whether there is a copy of what is `at`. */
bool net_has_half(const net *n, const float *at);
/* Weights have been written, or may have been, and their copies have not: the next forward pass makes
 * them anew.  [step] */
void net_touch_weights(net *n);
void net_touch_trained(net *n); /* frozen ones have not */
/* The same from now on before each forward pass, until a commit: somebody may write weights at any time
 * without telling. */
void net_expose_weights(net *n);
/* Offset of trainable weight k in the arena; -1 for buffers and frozen weights. */
int64_t net_offset(const net *n, uint32_t k);
/* The flat index that weight k had before the last commit, or -1: to carry optimizer state over. */
int64_t net_previous_offset(const net *n, uint32_t k);

/* ---- plans ---- */

enum {
    PLAN_TRAIN,     /* forward, loss, backward; gradients are written */
    PLAN_TRAIN_ADD, /* the same; gradients are added to */
    PLAN_LOSSES,    /* training-mode forward and one loss a sample, no gradients */
    PLAN_EVAL,      /* evaluation-mode forward and mean loss (0 targets: no loss) */
};
enum { SEGMENT_FORWARD, SEGMENT_LOSS, SEGMENT_BACKWARD, SEGMENT_COUNT };

typedef struct plan_request {
    int kind; /* PLAN_* */
    uint32_t ninputs;
    uint32_t ntargets;
    uint32_t reserved;
    tutti_desc inputs[TUTTI_MAX_COLUMNS];
    tutti_desc targets[TUTTI_MAX_COLUMNS];
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
 * changed in place before SEGMENT_LOSS. */
tutti_tensor plan_output(plan *p, uint32_t k);
tutti_tensor plan_loss(plan *p); /* scalar f32; (B) for PLAN_LOSSES; no data without targets */
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
/* What decides the bits of results besides the settings: which of the kernels of an operation computes
 * each call (lines that the caller frees; NULL: out of memory), and the CPU's model (borrowed). */
char *net_choices(const net *n);
const char *net_cpu(const net *n);
/* From now on plans take these kernels where they fit the call, and that many threads.  [control]
 * Errors: E_FORMAT, E_NOMEM. */
TUTTI_NODISCARD tutti_status net_fix_choices(net *n, const char *lines, int threads,
                                             tutti_error *err);
/* The same for choices in the file at `path` that are not there yet; it may be missing. */
TUTTI_NODISCARD tutti_status net_fix_choices_of(net *n, const char *path, tutti_error *err);
/* The choices so far, and those to come, are kept in the file at `path` too.  Errors: E_IO, E_NOMEM. */
TUTTI_NODISCARD tutti_status net_keep_choices(net *n, const char *path, tutti_error *err);
/* How many calls of plans made since were not among them. */
uint32_t net_missing_choices(const net *n);
/* What is wrong with the tune file, told once; NULL when there is nothing to say. */
const char *net_autotune_complaint(net *n);
uint64_t plan_bytes(const plan *p); /* arena and scratch */
double plan_flops(const plan *p);   /* of matrix products and convolutions; 0 when unknown */
/* Writes sizes, nodes, steps with their places, and the arena's map as text. */
void plan_dump(const plan *p, FILE *file);
/* Writes the nodes of model and loss as a drawing in Graphviz's language. */
void plan_draw(const plan *p, FILE *file);

#endif
