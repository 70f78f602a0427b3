/* net.h - a model: its module tree, weights and buffers. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_GRAPH_NET_NET_H
#define HOST_GRAPH_NET_NET_H

#include "graph/runtime/graph_capture.h"
#include "plugin/instance.h"
#include "tutti/model.h"
#include "tutti/module.h"
#include "tutti/op.h"
#include "tutti/weights.h"
#include "tutti_host/device.h"

#include <stdbool.h>
#include <stdio.h>

typedef struct net net; /* opaque */

/* What activations are stored in and products are made of; weights, their gradients, the model's
 * outputs and the loss are f32 in all of them (precision.h). */
enum { NET_FP32, NET_AMP_BF16, NET_AMP_FP16, NET_FP32_FAST };

/* How products read trainable weights in the two of 16 bits. */
enum {
    NET_HALF_BEST, /* copies with TUTTI_DEVICE_HALVES; else F32, which products in bf16 round */
    NET_HALF_NODES,  /* each run rounds them */
    NET_HALF_COPIES, /* rounded once, beside the arena of weights: net_half_weights */
};

struct program; /* program/program.h */

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
        *tune_file;    /* where measured choices of kernels are kept; NULL: none are measured */
    bool reproducible; /* the same bits on every CPU: autotuner_reproduce; wants no tune_file */
    bool deferred_init; /* weights are blank, their memory untouched: net_fill_weights */
    const tutti_device *device; /* where weights lie and plans run; NULL: here */
    /* What tutti.module/1 tells of a weight on the device may be made something else, with
     * services_ctx; NULL: it is told as it is. */
    tutti_status (*see_weight)(void *ctx, tutti_tensor *weight, tutti_error *err);
    void (*wrote_weight)(void *ctx); /* tutti.module/1 has changed one there; may be NULL */
    /* A plan, whose program is `q`, wants more bytes than can be had, as `why` says: before it is given up, with
     * services_ctx; may be NULL. */
    void (*lacks_memory)(void *ctx, const struct program *q, uint64_t wanted,
                         const tutti_error *why);
} net_options;

/* Errors: E_UNSUPPORTED the device lacks kernels that its flags promise; E_NOMEM.  [control] */
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
/* Trainable weights of one group lie together in the arenas, groups in the order of their numbers;
 * `path` is the weight's.  For commits from now on.  [control] */
typedef uint32_t (*net_group_fn)(const void *ctx, const char *path);
void net_set_groups(net *n, net_group_fn group, const void *ctx);

/* Since the last commit (graph/surgery/surgery.h), which will move weights. */
bool net_is_changed(const net *n);
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
/* Draws what is blank.  Without deferred_init a commit does; with it who reads weights or runs a plan calls this before,
 * and from then on commits do.  A weight that tutti.module/1 asks for alone is drawn alone. */
TUTTI_NODISCARD tutti_status net_fill_weights(net *n, tutti_error *err);
/* The whole weight that lies there has been written: nothing is drawn for it. */
void net_overwrites(net *n, const void *at);
/* Whether weights may still be blank: memory that only a run touches is not touched. */
bool net_is_blank(const net *n);
/* Training plans that are made from now on run several times between two changes of the weights, as for microbatches: these
 * are kept packed for them too, on a CPU. */
void net_repeat_training(net *n, bool repeats);
/* Weights that are kept packed, on a CPU: bytes, and how many, each once for every layout. */
uint64_t net_count_packed(const net *n, uint32_t *ret_weights);
/* Weights have been written, or may have been, and their copies have not: the next forward pass makes
 * them anew.  [step] */
void net_touch_weights(net *n);
void net_touch_trained(net *n); /* frozen ones have not */
void net_touch_packed(net *n);  /* as that, but for copies in 16 bits, which are new */
/* The same from now on before each forward pass, until a commit: somebody may write weights at any time
 * without telling. */
void net_expose_weights(net *n);
/* Offset of trainable weight k in the arena; -1 for buffers and frozen weights. */
int64_t net_offset(const net *n, uint32_t k);
/* The flat index that weight k had before the last commit, or -1: to carry optimizer state over. */
int64_t net_previous_offset(const net *n, uint32_t k);

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
/* From now on nothing is measured: calls without a choice take the first kernel. */
void net_stop_autotune(net *n);
/* The choices so far, and those to come, are kept in the file at `path` too.  Errors: E_IO, E_NOMEM. */
TUTTI_NODISCARD tutti_status net_keep_choices(net *n, const char *path, tutti_error *err);
/* How many calls of plans made since were not among them. */
uint32_t net_missing_choices(const net *n);
/* What became of this net's graphs on its device; who gathers more of them may add to it.  Borrowed. */
capture_log *net_captures(net *n);
/* What is wrong with the tune file, told once; NULL when there is nothing to say. */
const char *net_autotune_complaint(net *n);

#endif
