/* module.h - tutti.module/1: the model as a tree of named modules, and surgery on it. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TUTTI_MODULE_H
#define TUTTI_MODULE_H

#include "graph.h"
#include "params.h"

TUTTI_C_BEGIN

#define TUTTI_MODULE_V1 "tutti.module/1"

/* How a weight starts.  `a` and `b` by kind; `fan` counts inputs per output unit. */
enum {
    TUTTI_INIT_CONSTANT = 1, /* a */
    TUTTI_INIT_NORMAL = 2,   /* mean a, standard deviation b */
    TUTTI_INIT_UNIFORM = 3,  /* from a to b */
    TUTTI_INIT_KAIMING_NORMAL, /* standard deviation a / sqrt(fan): He et al. 2015; a is the gain */
    TUTTI_INIT_KAIMING_UNIFORM, /* +- a * sqrt(3 / fan) */
    TUTTI_INIT_DATA             /* copied from `data`, row-major in the weight's dtype */
};

/* Borrowed for the call.  No struct_size: its meaning hangs on `kind`, and a new kind that needs more says so
 * in `data`. */
typedef struct tutti_init {
    int32_t kind; /* TUTTI_INIT_* */
    int32_t reserved;
    double a;
    double b;
    double fan;
    const void *data; /* DATA only; borrowed for the call */
} tutti_init;

enum {
    TUTTI_WEIGHT_TRAINABLE = 1u << 0, /* has a gradient; without it: a buffer */
    TUTTI_WEIGHT_NO_DECAY = 1u << 1   /* biases and norms, for optimizer groups that ask */
};

/* The tree belongs to the host; handles stay valid until the module is destroyed with the run, and
 * are never reused.  Text results are borrowed until the tree changes.  The tree may change only
 * in build, and in apply on the events init, before_load and after_load; the host then moves
 * weights, optimizer groups and plans along.  What is trainable may also change on epoch_end, and
 * a checkpoint remembers it.  All calls [control] or, inside apply, [step]. */
typedef struct tutti_module_v1 {
    uint32_t struct_size;
    uint32_t reserved;
    void *ctx;
    /* The model itself. */
    tutti_module (*root)(void *ctx);
    /* A new module of layer kind `kind` (an object name), not yet in the tree, built from
     * settings checked against that layer's manifest. */
    tutti_status (*create)(void *ctx, const char *kind, const tutti_attr *params,
                           uint32_t nparams, tutti_module *ret_module, tutti_error *err);
    /* Puts `child` (new, or taken out by replace) under `parent` as `name`. */
    tutti_status (*add)(void *ctx, tutti_module parent, const char *name, tutti_module child,
                        tutti_error *err);
    /* `next` takes the place of `old` under its parent and gets its name.  `old` leaves the tree
     * whole: with `add` it may become a child of `next`.  Weights that are not in the tree when
     * the event ends leave the optimizer; new ones join the group of those that they replace. */
    tutti_status (*replace)(void *ctx, tutti_module old, tutti_module next, tutti_error *err);
    /* Children in order of `add`; 0 past the last, or when there is no such name. */
    tutti_module (*child_at)(void *ctx, tutti_module m, uint32_t k);
    tutti_module (*child)(void *ctx, tutti_module m, const char *name);
    tutti_module (*parent)(void *ctx,
                           tutti_module m); /* 0 for the root and what is not placed */
    /* Depth-first pre-order below `m`'s root: the module after `m`, 0 after the last. */
    tutti_module (*next)(void *ctx, tutti_module m);
    const char *(*kind)(void *ctx, tutti_module m); /* layer or model object name */
    const char *(*path)(void *ctx, tutti_module m); /* "stage1.block0.conv1"; "" for the root */
    const tutti_params *(*params)(void *ctx, tutti_module m); /* its settings */
    /* Declares a weight or buffer called `name` in `m`; for build. */
    tutti_status (*weight)(void *ctx, tutti_module m, const char *name, const tutti_desc *desc,
                           const tutti_init *init, uint32_t flags, tutti_error *err);
    /* Makes `m`'s weight `name` the very weight `from_name` of `from`: identity, value, optimizer
     * state and group move along; shapes must agree. */
    tutti_status (*take_weight)(void *ctx, tutti_module m, const char *name, tutti_module from,
                                const char *from_name, tutti_error *err);
    /* The value of a weight, for reading and writing in place; valid until the tree changes; on a device
     * out of the host's reach until the event ends.  Errors: E_STATE processes of a run have divided trained weights among
     * them, and no plugin has asked for tutti.weights/1 when it opened; a view from before shows what has come since of
     * this process's part alone. */
    tutti_status (*weight_data)(void *ctx, tutti_module m, const char *name,
                                tutti_tensor *ret_view, tutti_error *err);
    /* Weights of `m` and below stop (0) or start (1) having gradients. */
    tutti_status (*set_trainable)(void *ctx, tutti_module m, int32_t trainable,
                                  tutti_error *err);
    /* Writes all `bytes` of a weight from the host's
     * memory; on a device nobody waits, and nothing is read.  Errors: E_SHAPE it has another size. */
    tutti_status (*set_weight)(void *ctx, tutti_module m, const char *name, const void *value,
                               uint64_t bytes, tutti_error *err);
    /* `m` stays where it is, with its name and handle, and becomes a module of
     * layer kind `kind`, opened and built with `params`; NULL: of its own kind, and settings that
     * `params` does not name stay.  Weights that it declares as before (name, shape and dtype) stay the
     * very weights; so do all children, and those with other names come behind them.  Errors:
     * E_ARG for the root, those of create; `m` is then as it was. */
    tutti_status (*rebuild)(void *ctx, tutti_module m, const char *kind,
                            const tutti_attr *params, uint32_t nparams, tutti_error *err);
    /* Whoever reads weight `name` of `m` while tracing reads what `by` makes of it: a new module without
     * a place in the tree, whose trace gets the weight and gives a value of its shape.  A
     * second one works on what the first gives.  Weights of `by` are trained and saved as
     * "<path of the weight>.<kind>.<name>".  It follows the weight: take_weight and rebuild move it
     * along.  Errors: E_ARG `name` is a buffer, E_STATE `by` is in use. */
    tutti_status (*parametrize)(void *ctx, tutti_module m, const char *name, tutti_module by,
                                tutti_error *err);
    /* The k-th of them; 0 past the last, or when there is no such weight. */
    tutti_module (*parametrization)(void *ctx, tutti_module m, const char *name, uint32_t k);
} tutti_module_v1;

TUTTI_C_END
#endif
