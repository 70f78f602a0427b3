/* layer_check.h - a module tree and a graph that write down what layers and surgery do to them. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LAYER_CHECK_H
#define LAYER_CHECK_H

#include "plugin_check.h"

#include "tutti/layer.h"
#include "tutti/module.h"

#include <stdarg.h>
#include <stdio.h>

enum { TREE_ROOM = 64, TREE_WEIGHTS = 4, TEXT_ROOM = 8192 };

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
    given given;
} tree_module;

/* Module 1 is the root.  A child comes after its parent: next is the next number in the tree. */
typedef struct tree {
    tree_module modules[TREE_ROOM];
    uint32_t count; /* modules 1 to count */
    uint32_t reserved;
    tutti_module_v1 table;
} tree;

/* What a layer emits, one line an operation: "v2 = conv2d(v1, weight; stride=[2, 2], groups=1)". */
typedef struct record {
    tutti_graph graph;
    char text[TEXT_ROOM];
    tutti_desc shape;  /* of every value */
    uint32_t values;   /* v1 to v<values> */
    uint32_t nweights; /* weights are numbered from 1000, constants from 2000 */
    const char *names[16];
    tutti_desc constant_desc;
    float constant[1024]; /* the last one */
    tutti_status status;
} record;

TUTTI_PRINTF(2, 3)
static inline void record_add(record *r, const char *format, ...)
{
    const size_t used = strlen(r->text);
    va_list args;
    va_start(args, format);
    (void)vsnprintf(r->text + used, sizeof r->text - used, format, args);
    va_end(args);
}

static inline void record_value(record *r, tutti_value v)
{
    if (v >= 2000)
        record_add(r, "constant");
    else if (v >= 1000)
        record_add(r, "%s", r->names[v - 1000]);
    else
        record_add(r, "v%u", v);
}

static inline tutti_value record_emit(tutti_graph *g, const char *op, const tutti_value *in,
                                      uint32_t nin, const tutti_attr *attr, uint32_t nattr,
                                      tutti_value *out, uint32_t nout)
{
    record *r = g->ctx;
    const tutti_value first = r->values + 1;
    r->values += nout > 1 ? nout : 1;
    record_add(r, "v%u = %s(", first, op);
    for (uint32_t k = 0; k < nin; k++) {
        record_add(r, "%s", k ? ", " : "");
        record_value(r, in[k]);
    }
    for (uint32_t k = 0; k < nattr; k++) {
        record_add(r, "%s%s=", k ? ", " : "; ", attr[k].name);
        if (attr[k].type == TUTTI_ATTR_I64)
            record_add(r, "%lld", (long long)attr[k].i);
        else if (attr[k].type == TUTTI_ATTR_F64)
            record_add(r, "%g", attr[k].f);
        else {
            record_add(r, "[");
            for (uint32_t j = 0; j < attr[k].count; j++)
                record_add(r, "%s%lld", j ? ", " : "", (long long)attr[k].list[j]);
            record_add(r, "]");
        }
    }
    record_add(r, ")\n");
    for (uint32_t k = 0; k < nout && out; k++)
        out[k] = first + k;
    return first;
}

static inline const tutti_desc *record_desc(tutti_graph *g, tutti_value v)
{
    (void)v;
    return &((record *)g->ctx)->shape;
}

static inline tutti_value record_weight(tutti_graph *g, tutti_module m, const char *name)
{
    record *r = g->ctx;
    (void)m;
    r->names[r->nweights] = name;
    return 1000 + r->nweights++;
}

static inline tutti_value record_constant(tutti_graph *g, const tutti_tensor *t)
{
    record *r = g->ctx;
    ck_assert_uint_le(tutti_nbytes(&t->desc), sizeof r->constant);
    memcpy(r->constant, t->data, tutti_nbytes(&t->desc));
    r->constant_desc = t->desc;
    return 2000;
}

static inline void record_assign(tutti_graph *g, tutti_value target, tutti_value v)
{
    record *r = g->ctx;
    record_value(r, target);
    record_add(r, " <- v%u\n", v);
}

static inline tutti_status record_call(tutti_graph *g, tutti_module m, const tutti_value *in,
                                       uint32_t nin, tutti_value *out, uint32_t nout)
{
    record *r = g->ctx;
    char from[128] = "";
    ck_assert_uint_eq(nout, 1);
    for (uint32_t k = 0; k < nin; k++) {
        const size_t used = strlen(from);
        if (in[k] >= 1000)
            (void)snprintf(from + used, sizeof from - used, "%s%s", k ? ", " : "",
                           in[k] < 2000 ? r->names[in[k] - 1000] : "constant");
        else
            (void)snprintf(from + used, sizeof from - used, "%sv%u", k ? ", " : "", in[k]);
    }
    out[0] = ++r->values; /* `out` may be `in` */
    record_add(r, "v%u = module %u(%s)\n", out[0], m, from);
    return TUTTI_OK;
}

static inline tutti_status record_fail(tutti_graph *g, tutti_status status, const char *text)
{
    record *r = g->ctx;
    record_add(r, "failed: %s\n", text);
    r->status = status;
    return status;
}

static inline tutti_status record_status(const tutti_graph *g)
{
    return ((const record *)g->ctx)->status;
}

static inline tutti_value record_guard(tutti_graph *g, tutti_value keep)
{
    record *r = g->ctx;
    record_add(r, "if ");
    record_value(r, keep);
    record_add(r, " {\n");
    return 0;
}

static inline void record_unguard(tutti_graph *g, tutti_value before)
{
    (void)before;
    record_add(g->ctx, "}\n");
}

/* v1 is the input; every value has shape `desc`. */
static inline void record_init(record *r, int32_t mode, tutti_desc desc)
{
    memset(r, 0, sizeof *r);
    r->graph = (tutti_graph){
        sizeof r->graph, mode,          r,           record_emit, record_desc,   record_weight,
        record_constant, record_assign, record_call, record_fail, record_status, record_guard,
        record_unguard};
    r->shape = desc;
    r->values = 1;
}

/* ---- the tree ---- */

static inline tutti_module tree_new(tree *t, const char *kind)
{
    ck_assert_uint_lt(t->count + 1, TREE_ROOM);
    tree_module *m = &t->modules[++t->count];
    m->kind = kind;
    given_init(&m->given);
    return t->count;
}

static inline tutti_module tree_root(void *ctx)
{
    (void)ctx;
    return 1;
}

static inline tutti_status tree_create(void *ctx, const char *kind, const tutti_attr *params,
                                       uint32_t nparams, tutti_module *ret, tutti_error *err)
{
    tree *t = ctx;
    (void)err;
    const tutti_module m = tree_new(t, kind);
    for (uint32_t k = 0; k < nparams; k++)
        if (params[k].type == TUTTI_ATTR_F64)
            given_float(&t->modules[m].given, params[k].name, params[k].f);
        else
            given_int(&t->modules[m].given, params[k].name, params[k].i);
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
        given_init(&module->given);
    }
    for (uint32_t k = 0; k < nparams; k++)
        if (params[k].type == TUTTI_ATTR_F64)
            given_float(&module->given, params[k].name, params[k].f);
        else
            given_int(&module->given, params[k].name, params[k].i);
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

static inline tutti_module tree_parametrization(void *ctx, tutti_module m, const char *name,
                                                uint32_t k)
{
    ck_assert_str_eq(name, "weight");
    return k ? 0 : ((tree *)ctx)->modules[m].by;
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
static inline void tree_root_given(tree *t, const given *g)
{
    t->modules[1].given.params = g->params;
}

#endif
