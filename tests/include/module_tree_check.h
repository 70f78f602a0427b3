/* module_tree_check.h - a module tree for tests: its modules, and what is asked of them. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODULE_TREE_CHECK_H
#define MODULE_TREE_CHECK_H

#include "settings_check.h"
#include "tutti/module.h"

enum { TREE_ROOM = 64, TREE_WEIGHTS = 4 };

typedef struct tree_weight {
    const char *name;
    tutti_desc desc;
    tutti_init init;
    uint32_t flags;
    tutti_module from; /* taken from this module; 0: its own */
} tree_weight;

typedef struct tree_module {
    const char *kind;
    const char *name; /* mostly `label` */
    char label[32];
    tutti_module parent;
    uint32_t nweights;
    int32_t frozen;   /* by set_trainable, children aside */
    tutti_module by;  /* the parametrization of "weight"; 0: none */
    uint32_t rebuilt; /* how often */
    tree_weight weights[TREE_WEIGHTS];
    test_settings given;
} tree_module;

/* Module 1 is the root.  A child comes after its parent: next is the next number in the tree. */
typedef struct tree {
    tree_module modules[TREE_ROOM];
    uint32_t count; /* modules 1 to count */
    uint32_t reserved;
    tutti_module_v1 table;
} tree;

static inline tutti_module tree_new(tree *t, const char *kind)
{
    ck_assert_uint_lt(t->count + 1, TREE_ROOM);
    tree_module *m = &t->modules[++t->count];
    m->kind = kind;
    test_settings_init(&m->given);
    return t->count;
}

static inline tutti_module tree_root(void *ctx)
{
    (void)ctx;
    return 1;
}

static inline tutti_module tree_child_at(void *ctx, tutti_module m, uint32_t k)
{
    const tree *t = ctx;
    for (tutti_module c = 2; c <= t->count; c++)
        if (t->modules[c].parent == m && k-- == 0)
            return c;
    return 0;
}

static inline tutti_module tree_child(void *ctx, tutti_module m, const char *name)
{
    const tree *t = ctx;
    for (tutti_module c = 2; c <= t->count; c++)
        if (t->modules[c].parent == m && strcmp(t->modules[c].name, name) == 0)
            return c;
    return 0;
}

static inline tutti_module tree_parent(void *ctx, tutti_module m)
{
    return ((tree *)ctx)->modules[m].parent;
}

/* The name alone, which is the path of the root's children. */
static inline const char *module_tree_path(void *ctx, tutti_module m)
{
    return ((tree *)ctx)->modules[m].name;
}

static inline tutti_module module_tree_next(void *ctx, tutti_module m)
{
    const tree *t = ctx;
    for (m++; m <= t->count; m++)
        if (t->modules[m].parent)
            return m;
    return 0;
}

static inline const char *tree_kind(void *ctx, tutti_module m)
{
    return ((tree *)ctx)->modules[m].kind;
}

static inline const tutti_params *tree_params(void *ctx, tutti_module m)
{
    return &((tree *)ctx)->modules[m].given.params;
}

static inline tutti_module tree_parametrization(void *ctx, tutti_module m, const char *name,
                                                uint32_t k)
{
    ck_assert_str_eq(name, "weight");
    return k ? 0 : ((tree *)ctx)->modules[m].by;
}

#endif
