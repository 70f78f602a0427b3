/* net_internal.h - the module tree, weights and plans of a net. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_GRAPH_NET_NET_INTERNAL_H
#define HOST_GRAPH_NET_NET_INTERNAL_H

#include "graph/net/compiled_graph.h"
#include "graph/net/net.h"
#include "graph/program/program.h"
#include "graph/runtime/autotune.h"
#include "graph/runtime/device_memory.h"
#include "graph/runtime/graph_capture.h"
#include "tutti/layer.h"

#define NET_MAX_OUTPUTS 16
#define NET_MAX_PENALTIES 8
#define NET_PLAN_LISTS 64

typedef struct weight {
    tutti_desc desc;
    tutti_init init;
    void *data; /* NULL until the weight starts */
    float *grad;
    char *path;        /* as of the last commit; NULL outside of the tree */
    int64_t offset;    /* in the arena of trainable weights, or -1 */
    int64_t previous;  /* the offset before the last commit */
    tutti_module *via; /* what it is read through, in this order */
    uint32_t nvia;
    uint32_t id;    /* index in net.weights */
    uint32_t flags; /* TUTTI_WEIGHT_* */
    bool parameter; /* declared trainable; a frozen one lost that flag only */
    bool owned;     /* `data` is the weight's own, not in an arena */
    bool listed;    /* reached by the walk of a commit */
} weight;

typedef struct weight_slot {
    char *name;
    weight *weight;
} weight_slot;

/* What a module does; `instance` is closed with the net, the rest is borrowed from it. */
typedef struct layer_impl {
    const tutti_layer_v1 *table; /* NULL for the root */
    void *self;
    const tutti_params *params;
    instance *instance;
} layer_impl;

typedef struct module {
    char *name; /* under its parent; NULL when not placed */
    char *kind;
    char *
        path; /* the last answer of tutti.module/1's path; of a parametrization: its weight's and
                 * its kind, as of the last commit */
    tutti_module *children;
    weight_slot *slots;
    layer_impl impl;
    tutti_module parent;
    uint32_t nchildren, nslots;
    bool shapes;     /* a weight is read through it: it has no parent */
    bool lacks_path; /* memory was out for it: what hangs on its name is not to be had */
} module;

/* The model as the root sees it. */
typedef struct model_impl {
    const tutti_model_v1 *table;
    void *self;
    const tutti_params *params;
    const char *kind;
    instance *instance; /* borrowed; NULL: of no plugin */
} model_impl;

/* Opens a layer of `kind`; the default asks the registry. */
typedef tutti_status (*layer_source)(void *ctx, const char *kind, const tutti_attr *params,
                                     uint32_t nparams, layer_impl *ret_impl, tutti_error *err);

typedef struct model_graph model_graph;
typedef struct penalty penalty;
typedef struct loss_blend loss_blend;
typedef struct loss_graph loss_graph;
typedef struct half_weights half_weights;
typedef struct plugin_op plugin_op;

/* Copies of weights that lie together. */
typedef struct half_area {
    uint16_t *copies; /* on the net's device */
    int64_t count;
    bool old;
    compiled_graph cast; /* made by the first refresh */
} half_area;

enum { HALF_TRAINED, HALF_FROZEN, HALF_AREAS };

/* Who updates the weights writes their copies in the same sweep.  What else writes weights makes them
 * old: the next forward pass casts the whole area, by the operation that the plans would cast by. */
struct half_weights {
    half_area areas[HALF_AREAS];
    int32_t dtype;
    bool exposed; /* may become old at any time */
};

struct net {
    net_options options;
    autotuner *autotuner; /* NULL: kernels are not measured */
    tutti_module_v1 service;
    net_group_fn group; /* NULL: all are of one */
    const void *group_ctx;
    layer_source make_layer;
    void *make_layer_ctx;
    model_impl model;
    tutti_column columns[TUTTI_MAX_COLUMNS]; /* of net_build */
    module **modules;                        /* by handle; [0] is NULL, [1] the root */
    weight **weights;                        /* by id */
    void **addresses;                        /* of weights, by id */
    weight **order;                          /* those in the tree, as of the last commit */
    tutti_weight *views;
    float *trainable, *grads;
    void *buffers;      /* behind the frozen weights */
    half_weights *half; /* NULL: there are none */
    model_graph *model_graphs;
    plugin_op *plugin_ops;       /* opened so far */
    plan *plans[NET_PLAN_LISTS]; /* by hash of the request */
    unsigned char *arena;
    uint64_t arena_bytes;
    uint64_t memory_limit;
    uint64_t plan_limit;
    uint64_t clock; /* of net_plan's answers */
    net_plan_counts counts;
    uint64_t version;
    int64_t narena; /* f32 in `trainable` */
    struct {
        const tutti_penalty_v1 *table;
        void *self;
        instance *instance;
    } penalties[NET_MAX_PENALTIES];
    uint32_t npenalties;
    uint32_t nmodules, nweights, norder, ncolumns;
    int depth;    /* of nested calls while tracing */
    bool in_loss; /* tracing the loss */
    bool changed; /* since the last commit */
    bool merging; /* what programs do is gathered around them */
};

/* module_tree.c */
module *net_module(const net *n, tutti_module m); /* NULL when there is none */
/* "path.name", or the name; the caller frees it; NULL when memory is out. */
char *module_tree_join(const char *path, const char *name);
/* Appends a zeroed entry to the growing array that `array` points at; NULL when memory is out. */
void *module_tree_append(void *array, uint32_t *count, size_t size);
tutti_status module_tree_new(net *n, const char *kind, tutti_module *ret, tutti_error *err);
void module_tree_destroy(net *n);
const char *module_tree_path(const net *n, tutti_module m);
weight_slot *module_tree_slot(const module *m, const char *name);
tutti_module module_tree_next(const net *n, tutti_module m);
/* 0: there is none. */
tutti_module module_tree_child(const net *n, const module *parent, const char *name);
/* "where: there is no weight "bias"; it has weight, scale". */
tutti_status module_tree_no_weight(const module *m, const char *where, const char *name,
                                   tutti_error *err);

/* weight.c */
tutti_status weight_create(net *n, const tutti_desc *desc, const tutti_init *init,
                           uint32_t flags, weight **ret, tutti_error *err);
/* Gives the weight its first values, drawn for `path`, unless it has some. */
tutti_status weight_start(const net *n, weight *w, const char *path, tutti_error *err);

/* half_weights.c: trained and frozen weights in 16 bits.  What products read in them: TUTTI_DTYPE_NONE, weights as they
 * are. */
int32_t half_weights_dtype(const net *n);
bool half_weights_exist(const net *n);
/* For the arena of trained weights and the frozen ones before all buffers; *ret_half stays NULL where
 * there are no copies. */
tutti_status half_weights_create(const net *n, int64_t ntrained, int64_t nfrozen,
                                 half_weights **ret_half, tutti_error *err);
void half_weights_destroy(const net *n, half_weights *l); /* NULL is allowed */
/* Where the copy of weight `id` is; NULL: there is none. */
void *half_weights_address(const net *n, uint32_t id);
/* The f32 weights that area HALF_* has copies of. */
float *half_weights_source(const net *n, int area);
/* half_refresh.c.  Before a forward pass: makes copies that are old anew. */
tutti_status half_weights_refresh(net *n, const tutti_step *step, tutti_error *err);

/* op_source.c: the operation of that name out of a plugin, opened once; NULL: there is none, or it cannot be
 * used.  What is opened is closed with the net. */
const tutti_op *op_source_find(net *n, const char *name, tutti_error *err);
void op_source_close(net *n);

/* surgery.c */
void surgery_init_service(net *n);

/* rebuild.c: as tutti.module/1 says. */
tutti_status rebuild_module(void *ctx, tutti_module m, const char *kind,
                            const tutti_attr *params, uint32_t nparams, tutti_error *err);
tutti_status rebuild_parametrize(void *ctx, tutti_module m, const char *name, tutti_module by,
                                 tutti_error *err);
tutti_module rebuild_parametrization(void *ctx, tutti_module m, const char *name, uint32_t k);
/* Tells the parametrizations of `w` that it is at `path`. */
tutti_status rebuild_place(const net *n, const weight *w, const char *path, tutti_error *err);

/* layer_source.c */
tutti_status layer_source_open(void *ctx, const char *kind, const tutti_attr *params,
                               uint32_t nparams, layer_impl *ret_impl, tutti_error *err);

/* net.c: net_build for a model that need not be an instance. */
tutti_status net_build_model(net *n, const model_impl *model, const tutti_column *columns,
                             uint32_t ncolumns, tutti_error *err);
/* trace.c: an empty graph that traces this tree. */
graph *net_graph(net *n, int32_t mode);
/* The model's trace and loss in a graph of net_graph. */
tutti_status net_trace_model(net *n, tutti_graph *b, const tutti_value *in, uint32_t nin,
                             tutti_value *out, uint32_t nout);
tutti_value net_trace_loss(net *n, tutti_graph *b, const tutti_value *outputs,
                           uint32_t noutputs, const tutti_value *targets, uint32_t ntargets,
                           int32_t reduction);

/* plan_cache.c, model_graph.c: the forward pass, and the backward pass from given output gradients. */
struct model_graph {
    model_graph *next;
    compiled_graph compiled; /* in the arena of all plans */
    tutti_value inputs[TUTTI_MAX_COLUMNS];
    tutti_value outputs[NET_MAX_OUTPUTS];
    tutti_value douts[NET_MAX_OUTPUTS]; /* 0 for those without a gradient */
    tutti_desc input_desc[TUTTI_MAX_COLUMNS];
    void *own_input[TUTTI_MAX_COLUMNS]; /* taken when first asked for */
    const void *input[TUTTI_MAX_COLUMNS];
    tutti_value *grads; /* by position in net.order */
    tutti_value *there; /* likewise: what such a gradient was added to by the graph; or 0 */
    uint32_t ninputs, noutputs;
    int kind;
    int reserved;
    uint64_t cut_bytes; /* that a loss finds in the arena */
    uint64_t used;      /* the net's clock when a plan over it was last asked for */
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

/* TUTTI_MODE_* of a plan's kind. */
static inline int32_t plan_mode(int kind)
{
    return kind == PLAN_EVAL ? TUTTI_MODE_EVAL : TUTTI_MODE_TRAIN;
}

tutti_status model_graph_create(net *n, const plan_request *request, model_graph **ret_body,
                                tutti_error *err);
/* Where each weight is first used by a forward pass over a small batch of `n`'s columns, as
 * 1, 2, ... into first_use[id]; 0 for unused ones.  False when no such pass can be traced. */
bool model_graph_first_uses(net *n, uint32_t *first_use);
tutti_status model_graph_compile(net *n, model_graph *b, uint64_t cut_bytes, tutti_error *err);
void model_graph_destroy(model_graph *b); /* NULL is allowed */
tutti_status loss_graph_init(net *n, const model_graph *b, const plan_request *request,
                             loss_graph *h, tutti_error *err);
void loss_graph_fini(loss_graph *h);
/* penalty.c: segment 0 adds the terms to the loss, segment 1 their gradients to the weights'. */
tutti_status penalty_create(net *n, const plan_request *request, penalty **ret_penalty,
                            tutti_error *err);
void penalty_destroy(penalty *p); /* NULL is allowed */
uint64_t penalty_bytes(const penalty *p);
/* `places`: inputs, targets, the loss scale, the loss, and where the sum of both goes. */
tutti_status penalty_run(const net *n, penalty *p, const void *const *places, int32_t segment,
                         const tutti_step *step, tutti_error *err);
/* loss_blend.c: a = fractions[0] a + fractions[1] b, both of `d`, on the net's device.  *list grows by one for each
 * shape. */
tutti_status loss_blend_run(net *n, loss_blend **list, const float *fractions, float *a,
                            const float *b, const tutti_desc *d, const tutti_step *step,
                            tutti_error *err);
void loss_blends_destroy(loss_blend *list);    /* NULL is allowed */
bool model_graph_trains(const model_graph *b); /* has a backward pass */
const tutti_desc *model_graph_output_desc(const model_graph *b, uint32_t k);
/* plan_cache.c */
void plans_drop(net *n);
/* One arena serves all plans; its contents need not outlive a change of shapes. */
tutti_status plans_fit_arena(net *n, uint64_t bytes, tutti_error *err);

#endif
