/* layer_check.h - a module tree that layers and surgery change, beside a graph that writes down what they emit. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LAYER_CHECK_H
#define LAYER_CHECK_H

#include "graph_check.h"
#include "module_tree_check.h"
#include "plugin_check.h"
#include "tutti/layer.h"
#include "tutti/module.h"

#include <stdio.h>

static inline tutti_status tree_create(void *ctx, const char *kind, const tutti_attr *params,
                                       uint32_t nparams, tutti_module *ret, tutti_error *err)
{
    tree *t = ctx;
    (void)err;
    const tutti_module m = tree_new(t, kind);
    for (uint32_t k = 0; k < nparams; k++)
        if (params[k].type == TUTTI_ATTR_F64)
            test_settings_float(&t->modules[m].given, params[k].name, params[k].f);
        else
            test_settings_int(&t->modules[m].given, params[k].name, params[k].i);
    *ret = m;
    return TUTTI_OK;
}

static inline tutti_status tree_add(void *ctx, tutti_module parent, const char *name,
                                    tutti_module child, tutti_error *err)
{
    tree *t = ctx;
    (void)err;
    t->modules[child].parent = parent;
    (void)snprintf(t->modules[child].label, sizeof t->modules[child].label, "%s", name);
    t->modules[child].name = t->modules[child].label;
    return TUTTI_OK;
}

static inline tutti_status tree_replace(void *ctx, tutti_module old, tutti_module next,
                                        tutti_error *err)
{
    tree *t = ctx;
    (void)err;
    t->modules[next].parent = t->modules[old].parent;
    t->modules[next].name = t->modules[old].name;
    t->modules[old].parent = 0;
    return TUTTI_OK;
}

static inline tutti_status tree_weight_new(void *ctx, tutti_module m, const char *name,
                                           const tutti_desc *desc, const tutti_init *init,
                                           uint32_t flags, tutti_error *err)
{
    tree_module *module = &((tree *)ctx)->modules[m];
    (void)err;
    module->weights[module->nweights++] = (tree_weight){name, *desc, *init, flags, 0};
    return TUTTI_OK;
}

static inline tutti_status tree_take(void *ctx, tutti_module m, const char *name,
                                     tutti_module from, const char *from_name, tutti_error *err)
{
    tree_module *module = &((tree *)ctx)->modules[m];
    (void)err;
    ck_assert_str_eq(name, from_name);
    module->weights[module->nweights++] = (tree_weight){.name = name, .from = from};
    return TUTTI_OK;
}

/* Where the test's weight_data says that it is. */
static inline tutti_status tree_set_weight(void *ctx, tutti_module m, const char *name,
                                           const void *value, uint64_t bytes, tutti_error *err)
{
    const tree *t = (const tree *)ctx;
    tutti_tensor to;
    const tutti_status s = t->table.weight_data(ctx, m, name, &to, err);
    if (s)
        return s;
    ck_assert_uint_eq(bytes, tutti_nbytes(&to.desc));
    memcpy(to.data, value, bytes);
    return TUTTI_OK;
}

static inline tutti_status tree_set_trainable(void *ctx, tutti_module m, int32_t trainable,
                                              tutti_error *err)
{
    (void)err;
    ((tree *)ctx)->modules[m].frozen = !trainable;
    return TUTTI_OK;
}

/* Kind and settings change; weights stay, and nothing is built. */
static inline tutti_status tree_rebuild(void *ctx, tutti_module m, const char *kind,
                                        const tutti_attr *params, uint32_t nparams,
                                        tutti_error *err)
{
    tree_module *module = &((tree *)ctx)->modules[m];
    (void)err;
    if (kind) {
        module->kind = kind;
        test_settings_init(&module->given);
    }
    for (uint32_t k = 0; k < nparams; k++)
        if (params[k].type == TUTTI_ATTR_F64)
            test_settings_float(&module->given, params[k].name, params[k].f);
        else
            test_settings_int(&module->given, params[k].name, params[k].i);
    module->rebuilt++;
    return TUTTI_OK;
}

static inline tutti_status tree_parametrize(void *ctx, tutti_module m, const char *name,
                                            tutti_module by, tutti_error *err)
{
    (void)err;
    ck_assert_str_eq(name, "weight");
    ((tree *)ctx)->modules[m].by = by;
    return TUTTI_OK;
}

static inline void tree_init(tree *t)
{
    memset(t, 0, sizeof *t);
    t->table.struct_size = sizeof t->table;
    t->table.ctx = t;
    t->table.root = tree_root;
    t->table.create = tree_create;
    t->table.add = tree_add;
    t->table.replace = tree_replace;
    t->table.child_at = tree_child_at;
    t->table.child = tree_child;
    t->table.parent = tree_parent;
    t->table.path = module_tree_path;
    t->table.next = module_tree_next;
    t->table.kind = tree_kind;
    t->table.params = tree_params;
    t->table.weight = tree_weight_new;
    t->table.take_weight = tree_take;
    t->table.set_trainable = tree_set_trainable;
    t->table.set_weight = tree_set_weight;
    t->table.rebuild = tree_rebuild;
    t->table.parametrize = tree_parametrize;
    t->table.parametrization = tree_parametrization;
    (void)tree_new(t, "model");
}

/* The root has the settings of `g`, which outlives the tree. */
static inline void tree_root_given(tree *t, const test_settings *g)
{
    t->modules[1].given.params = g->params;
}

#endif
