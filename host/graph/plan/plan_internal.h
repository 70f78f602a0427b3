/* plan_internal.h - what a plan is made of: the model's graph, the loss's graph, penalties. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_GRAPH_PLAN_PLAN_INTERNAL_H
#define HOST_GRAPH_PLAN_PLAN_INTERNAL_H

#include "graph/net/net_internal.h"
#include "graph/net/sequence.h"
#include "graph/plan/loss.h"
#include "graph/plan/plan.h"
#include "graph/runtime/graph_capture.h"

#define PLAN_LISTS 64

typedef struct model_graph model_graph;
typedef struct loss_blend loss_blend;
typedef struct output_copy output_copy;
typedef struct loss_graph loss_graph;

/* plan_cache.c, model_graph.c: the forward pass, and the backward pass from given output gradients. */
struct model_graph {
    model_graph *next;
    compiled_graph compiled; /* in the arena of all plans */
    tutti_value inputs[TUTTI_MAX_COLUMNS];
    tutti_value outputs[NET_MAX_OUTPUTS];
    tutti_value douts[NET_MAX_OUTPUTS]; /* 0 for those without a gradient */
    tutti_desc
        output_desc[NET_MAX_OUTPUTS];     /* as others see them: F32, the columns that count */
    output_copy *copies[NET_MAX_OUTPUTS]; /* taken when first asked for */
    tutti_desc input_desc[TUTTI_MAX_COLUMNS];
    void *own_input[TUTTI_MAX_COLUMNS]; /* taken when first asked for */
    const void *input[TUTTI_MAX_COLUMNS];
    tutti_value *grads; /* by position in net.order */
    tutti_value *there; /* likewise: what such a gradient was added to by the graph; or 0 */
    uint32_t ninputs, noutputs;
    int kind;
    bool half_outputs; /* as the request has it, as is: */
    bool spends_outputs;
    bool
        spent[NET_MAX_OUTPUTS]; /* the loss writes an output's gradient where the output lies */
    sequence_trace *sequence;   /* PLAN_CONTINUE's; NULL in others */
    uint64_t cut_bytes;         /* that a loss finds in the arena */
    uint64_t used;              /* the net's clock when a plan over it was last asked for */
};

/* The loss and its gradient for the outputs, for targets of certain shapes. */
struct loss_graph {
    compiled_graph
        compiled; /* no program: no targets, no loss; an arena of its own when it does
                                not fit in the model's */
    tutti_desc loss;
    tutti_value loss_value;
    tutti_value inputs[NET_MAX_OUTPUTS + TUTTI_MAX_COLUMNS + 1]; /* outputs, targets, scale */
    tutti_value douts[NET_MAX_OUTPUTS];
    void *own_target[TUTTI_MAX_COLUMNS];
    const void *target[TUTTI_MAX_COLUMNS];
    void *loss_data;
    float *scale;    /* as the graph's input */
    float scale_now; /* what is there, if scale_set */
    bool scale_set;
    penalty *penalty;  /* NULL: none */
    float *blend_loss; /* taken by the first plan_blend_loss, as are: */
    float *blend_dout[NET_MAX_OUTPUTS];
    loss_blend *blends;    /* of devices whose memory is their own */
    graph_captures merged; /* segments as one */
};

struct plan {
    plan *next;
    net *n;
    model_graph *model_graph;
    loss_graph loss_graph;
    plan_request request;
    uint64_t hash; /* of the request */
};

/* What is compiled for a net, and the memory that all of it shares. */
typedef struct plan_set {
    net_losses losses;
    model_graph *model_graphs;
    plan *plans[PLAN_LISTS]; /* by hash of the request */
    unsigned char *arena;
    uint64_t arena_bytes;
    uint64_t clock;    /* of net_plan's answers */
    bool across_slots; /* plan_workspace.h */
    net_plan_counts counts;
} plan_set;

/* plan_set.c.  The net's; NULL: no memory for one. */
plan_set *plan_set_get(net *n);
void plan_set_drop(net *n);
/* One arena serves all plans; its contents need not outlive a change of shapes. */
tutti_status plan_set_fit_arena(net *n, uint64_t bytes, tutti_error *err);
/* Of model graph `b`, or all. */
void plan_set_drop_plans(plan_set *set, const model_graph *b);

/* TUTTI_MODE_* of a plan's kind. */
static inline int32_t plan_mode(int kind)
{
    return kind == PLAN_EVAL || kind == PLAN_CONTINUE ? TUTTI_MODE_EVAL : TUTTI_MODE_TRAIN;
}

tutti_status model_graph_create(net *n, const plan_request *request, model_graph **ret_graph,
                                tutti_error *err);
/* rematerialize: REMATERIALIZE_*. */
tutti_status model_graph_compile(net *n, model_graph *b, int rematerialize, uint64_t cut_bytes,
                                 tutti_error *err);
void model_graph_destroy(model_graph *b); /* NULL is allowed */
tutti_status loss_graph_init(net *n, const model_graph *b, const plan_request *request,
                             loss_graph *h, tutti_error *err);
void loss_graph_fini(loss_graph *h);
/* Whether it writes the gradient of output k where the output lies. */
bool loss_graph_spends(const loss_graph *h, uint32_t k);
/* loss_blend.c: a = fractions[0] a + fractions[1] b, both of `d`, on the net's device.  *list grows by one for each
 * shape. */
tutti_status loss_blend_run(net *n, loss_blend **list, const float *fractions, float *a,
                            const float *b, const tutti_desc *d, const tutti_step *step,
                            tutti_error *err);
void loss_blends_destroy(loss_blend *list); /* NULL is allowed */
/* model_graph.c: has a backward pass. */
bool model_graph_trains(const model_graph *b);
/* output_copy.c: output k as others see it, copied into memory of its own from where it lies. */
tutti_status output_copy_run(net *n, model_graph *b, uint32_t k, const void *from,
                             const tutti_step *step, void **ret_data, tutti_error *err);
uint64_t output_copy_bytes(const output_copy *c); /* NULL is allowed, as below */
void output_copy_destroy(output_copy *c);
/* Emits what others see of `v`, an output of description `kept`. */
tutti_value output_copy_emit(graph *g, tutti_value v, const tutti_desc *seen);
/* Of output k: as others see it, and as it lies in memory. */
const tutti_desc *model_graph_output_desc(const model_graph *b, uint32_t k);
const tutti_desc *model_graph_kept_desc(const model_graph *b, uint32_t k);
bool model_graph_output_is_kept(const model_graph *b, uint32_t k); /* the two are one */

#endif
