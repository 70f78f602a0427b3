/* net_internal.h - the parts of a net, for its own files. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_GRAPH_NET_NET_INTERNAL_H
#define HOST_GRAPH_NET_NET_INTERNAL_H

#include "graph/net/compiled_graph.h"
#include "graph/net/module_calls.h"
#include "graph/net/module_tree.h"
#include "graph/program/program.h"
#include "graph/runtime/autotune.h"
#include "graph/runtime/device_memory.h"

#define NET_MAX_OUTPUTS 16

typedef struct half_weights half_weights;
typedef struct plugin_op plugin_op;
typedef struct sequence_trace sequence_trace;
typedef struct sequence_rows sequence_rows;

/* Copies of weights that lie together. */
typedef struct half_area {
    uint16_t *copies; /* on the net's device */
    int64_t count;
    bool old;
    compiled_graph cast; /* made by the first refresh */
} half_area;

enum { HALF_TRAINED, HALF_FROZEN, HALF_AREAS };

/* Who updates the weights writes their copies in the same optimizer step.  What else writes weights makes them
 * old: the next forward pass casts the whole area, by the operation that the plans would cast by. */
struct half_weights {
    half_area areas[HALF_AREAS];
    int32_t dtype;
    bool exposed; /* may become old at any time */
};

/* packed_weights.c: weights as kernels read them, for plans that run several times before they change.  What writes weights
 * says so, or that they may be written at any time, by the same calls as for copies in 16 bits. */
typedef struct packed_weights {
    const net *of;
    weight_packs store;          /* of plans without a backward pass: all weights */
    weight_packs training;       /* of the others: frozen ones, and all where `repeats` */
    struct packed_weight *first; /* NULL: none */
    uint64_t version;            /* of the weights, from 1 */
    uint64_t frozen_version;
    bool exposed; /* until the next commit */
    bool repeats; /* net_repeat_training */
} packed_weights;

/* The modules and their weights. */
typedef struct net_tree {
    module **modules; /* by handle; [0] is NULL, [1] the root */
    weight **weights; /* by id */
    void **addresses; /* of weights, by id */
    weight **order;   /* those in the tree, as of the last commit */
    tutti_weight *views;
    uint32_t nmodules, nweights, norder;
    uint64_t version;
    bool changed; /* since the last commit */
} net_tree;

/* Where weights and gradients lie, on the net's device. */
typedef struct net_storage {
    float *trainable, *grads; /* `count` each */
    int64_t count;
    void *buffers;      /* behind the frozen weights */
    half_weights *half; /* NULL: there are none */
    packed_weights packed;
    sequence_rows *rows; /* that sequences have left, for plans of all lengths */
} net_storage;

/* Where groups of weights, layers and operations come from. */
typedef struct net_sources {
    net_group_fn group; /* NULL: all are of one */
    const void *group_ctx;
    layer_source make_layer;
    void *make_layer_ctx;
    plugin_op *ops; /* opened so far */
} net_sources;

/* What the folder plan/ compiles for the tree; this one says when that ends, and no more. */
typedef struct net_compiled {
    struct plan_set *plans;  /* NULL: nothing so far */
    void (*drop)(net *n);    /* modules, addresses of weights or choices of kernels change */
    void (*destroy)(net *n); /* the net ends */
} net_compiled;

/* Of plans; 0: the default. */
typedef struct net_limits {
    uint64_t memory; /* bytes of all */
    uint64_t plans;  /* bytes beside the arena */
} net_limits;

typedef struct net_tracing {
    int depth;                /* of nested calls */
    bool in_loss;             /* tracing the loss */
    module_calls *calls;      /* NULL: nobody writes them down */
    sequence_trace *sequence; /* NULL: sequences begin with the inputs */
} net_tracing;

struct net {
    net_options options;
    autotuner *autotuner; /* NULL: kernels are not measured */
    capture_log *captures;
    tutti_module_v1 service;
    model_impl model;
    tutti_column columns[TUTTI_MAX_COLUMNS]; /* of net_build */
    uint32_t ncolumns;
    net_tree tree;
    net_storage storage;
    net_sources sources;
    net_compiled compiled;
    net_limits limits;
    net_tracing tracing;
    bool merging;                     /* what programs do is gathered around them */
    const program_observer *observer; /* of all plans; NULL: nobody */
};

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

void packed_weights_init(net *n); /* once */

/* op_source.c: the operation of that name out of a plugin, opened once; NULL: there is none, or it cannot be
 * used.  What is opened is closed with the net. */
const tutti_op *op_source_find(net *n, const char *name, tutti_error *err);
void op_source_close(net *n);

/* layer_source.c */
tutti_status layer_source_open(void *ctx, const char *kind, const tutti_attr *params,
                               uint32_t nparams, layer_impl *ret_impl, tutti_error *err);

/* net.c: what is compiled so far is dropped. */
void net_drop_plans(net *n);
/* net_build for a model that need not be an instance. */
tutti_status net_build_model(net *n, const model_impl *model, const tutti_column *columns,
                             uint32_t ncolumns, tutti_error *err);
/* first_use.c: where each weight is first used by a forward pass over a small batch of `n`'s columns, as
 * 1, 2, ... into first_use[id]; 0 for unused ones.  False when no such pass can be traced. */
bool net_first_uses(net *n, uint32_t *first_use);
/* module_trace.c: an empty graph that traces this tree. */
graph *net_graph(net *n, int32_t mode);
/* The model's trace and loss in a graph of net_graph. */
tutti_status net_trace_model(net *n, tutti_graph *b, const tutti_value *in, uint32_t nin,
                             tutti_value *out, uint32_t nout);
tutti_value net_trace_loss(net *n, tutti_graph *b, const tutti_value *outputs,
                           uint32_t noutputs, const tutti_value *targets, uint32_t ntargets,
                           int32_t reduction);

#endif
