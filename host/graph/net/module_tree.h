/* module_tree.h - modules, their weights and what they do; for the files of a net. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_GRAPH_NET_MODULE_TREE_H
#define HOST_GRAPH_NET_MODULE_TREE_H

#include "graph/net/net.h"
#include "tutti/layer.h"

typedef struct weight {
    tutti_desc desc;
    tutti_init init;
    uint64_t key; /* what its first values are drawn by: its first path */
    void *data;   /* NULL until the weight starts */
    float *grad;
    char *path;        /* as of the last commit; NULL outside of the tree */
    int64_t offset;    /* in the arena of trainable weights, or -1 */
    int64_t previous;  /* the offset before the last commit */
    tutti_module *via; /* what it is read through, in this order */
    uint32_t nvia;
    uint32_t id;    /* index in net.weights */
    uint32_t flags; /* TUTTI_WEIGHT_* */
    bool parameter; /* declared trainable; a frozen one lost that flag only */
    bool named;     /* `key` is set */
    bool blank;     /* in an arena, without values: net_fill_weights */
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
    bool lacks_path; /* memory was out for it or a parent's: its name is not to be used */
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
/* The first values will be those drawn for `path`, unless it is known already. */
void weight_name(weight *w, const char *path);
/* Gives the weight its first values, in memory of its own if it has no place, unless it has some. */
tutti_status weight_start(const net *n, weight *w, const char *path, tutti_error *err);
/* Writes the first values of a weight that has a name to its place on the net's device. */
tutti_status weight_draw(const net *n, const weight *w, void *to, const char *path,
                         tutti_error *err);
/* The same where it lies. */
tutti_status weight_fill(const net *n, weight *w, const char *path, tutti_error *err);

#endif
