/* graph_builder.c - tutti_graph: what layers and models build graphs with. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/ir/graph_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static tutti_status build_fail(tutti_graph *b, tutti_status status, const char *text)
{
    return graph_fail_at(graph_of(b), status, text);
}

static tutti_status build_status(const tutti_graph *b)
{
    const graph *g = b->ctx;
    return g->error.status;
}

static const tutti_desc *build_desc(tutti_graph *b, tutti_value v)
{
    const graph *g = graph_of(b);
    return &g->values[v < g->nvalues ? v : 0].desc;
}

static tutti_value build_constant(tutti_graph *b, const tutti_tensor *t)
{
    graph *g = graph_of(b);
    tutti_error err = TUTTI_ERROR_INIT;
    if (g->error.status)
        return 0;
    if (tutti_desc_check(&t->desc, 0, &err)) {
        char text[sizeof err.text + 16];
        (void)snprintf(text, sizeof text, "a constant: %s", err.text);
        graph_fail_at(g, err.status, text);
        return 0;
    }
    const uint64_t bytes = tutti_nbytes(&t->desc);
    for (tutti_value v = 1; v < g->nvalues; v++)
        if (g->values[v].kind == VALUE_CONST &&
            memcmp(&g->values[v].desc, &t->desc, sizeof t->desc) == 0 &&
            (!bytes || memcmp(g->values[v].data, t->data, bytes) == 0))
            return v;
    void *data = pool_take(&g->memory, bytes);
    const tutti_value v = data ? graph_add_value(g, &t->desc, VALUE_CONST, 0) : 0;
    if (!v) {
        graph_out_of_memory(g);
        return 0;
    }
    if (bytes)
        memcpy(data, t->data, bytes);
    g->values[v].data = data;
    return v;
}

/* What a reader of weight `id` sees now: the last assigned value, or the weight itself. */
static tutti_value current_value(const graph *g, uint32_t id)
{
    for (uint32_t k = g->nassigns; k-- > 0;)
        if (g->assigns[k].weight == id)
            return g->assigns[k].value;
    for (tutti_value v = 1; v < g->nvalues; v++)
        if (g->values[v].kind == VALUE_WEIGHT && g->values[v].index == id)
            return v;
    return 0;
}

static tutti_value build_weight(tutti_graph *b, tutti_module m, const char *name)
{
    graph *g = graph_of(b);
    uint32_t id = 0;
    tutti_desc desc;
    bool trainable = false;
    if (g->error.status)
        return 0;
    if (!g->hooks.weight) {
        graph_fail_at(g, TUTTI_E_STATE, "this graph has no module tree");
        return 0;
    }
    if (g->hooks.weight(g->hooks.ctx, g, m, name, &id, &desc, &trainable))
        return 0;
    tutti_value v = current_value(g, id);
    if (!v)
        v = graph_weight(g, id, &desc, trainable);
    return g->hooks.read ? g->hooks.read(g->hooks.ctx, g, id, v) : v;
}

/* The weight that `target` stands for, directly or as the value last assigned to it. */
static bool weight_behind(const graph *g, tutti_value target, uint32_t *ret_id)
{
    if (target && target < g->nvalues && g->values[target].kind == VALUE_WEIGHT) {
        *ret_id = g->values[target].index;
        return true;
    }
    for (uint32_t k = g->nassigns; k-- > 0 && target;)
        if (g->assigns[k].value == target) {
            *ret_id = g->assigns[k].weight;
            return true;
        }
    return false;
}

static void build_assign(tutti_graph *b, tutti_value target, tutti_value v)
{
    graph *g = graph_of(b);
    uint32_t id = 0;
    char want[96], got[96];
    tutti_error err = TUTTI_ERROR_INIT;
    if (g->error.status)
        return;
    if (!weight_behind(g, target, &id) || v == 0 || v >= g->nvalues) {
        graph_fail_at(g, TUTTI_E_ARG, "assign: the target is no buffer, or there is no value");
        return;
    }
    if (g->values[target].trainable) {
        graph_fail_at(g, TUTTI_E_ARG,
                      "assign: the target is a trainable weight, want a buffer");
        return;
    }
    const tutti_desc *a = &g->values[target].desc, *c = &g->values[v].desc;
    if (!tutti_same_shape(a, c) || a->dtype != c->dtype) {
        tutti_fail(&err, TUTTI_E_SHAPE, "assign: the value is %s, the buffer %s",
                   tutti_desc_text(c, got, sizeof got), tutti_desc_text(a, want, sizeof want));
        graph_fail_at(g, err.status, err.text);
        return;
    }
    v = graph_guarded(g, target, v);
    if (!graph_reserve(&g->assigns, &g->assign_capacity, g->nassigns, 1, sizeof *g->assigns))
        graph_out_of_memory(g);
    else
        g->assigns[g->nassigns++] = (graph_assign){id, v};
}

static tutti_status build_call(tutti_graph *b, tutti_module m, const tutti_value *in,
                               uint32_t nin, tutti_value *out, uint32_t nout)
{
    graph *g = graph_of(b);
    tutti_value args[TUTTI_OP_MAX_IN]; /* `out` may be the memory of `in` */
    if (!g->error.status && !g->hooks.call)
        graph_fail_at(g, TUTTI_E_STATE, "this graph has no module tree");
    if (!g->error.status && nin > TUTTI_OP_MAX_IN)
        graph_fail_at(g, TUTTI_E_ARG, "call: too many inputs");
    for (uint32_t k = 0; k < nin && !g->error.status; k++)
        args[k] = in[k];
    for (uint32_t k = 0; k < nout; k++)
        out[k] = 0;
    return g->error.status ? g->error.status
                           : g->hooks.call(g->hooks.ctx, g, m, args, nin, out, nout);
}

static tutti_value build_position(tutti_graph *b, int64_t most)
{
    graph *g = graph_of(b);
    return g->error.status || !g->hooks.position ? 0 : g->hooks.position(g->hooks.ctx, g, most);
}

static tutti_value build_cache(tutti_graph *b, tutti_module m, const char *name,
                               tutti_value rows)
{
    graph *g = graph_of(b);
    return g->error.status || !g->hooks.cache ? 0
                                              : g->hooks.cache(g->hooks.ctx, g, m, name, rows);
}

graph *graph_create(const tutti_op *const *ops, int32_t mode, const graph_hooks *hooks)
{
    graph *g = calloc(1, sizeof *g);
    if (!g)
        return NULL;
    g->api = (tutti_graph){.struct_size = sizeof g->api,
                           .mode = mode,
                           .ctx = g,
                           .emit = graph_build_emit,
                           .desc = build_desc,
                           .weight = build_weight,
                           .constant = build_constant,
                           .assign = build_assign,
                           .call = build_call,
                           .fail = build_fail,
                           .status = build_status,
                           .guard = graph_build_guard,
                           .unguard = graph_build_unguard,
                           .position = build_position,
                           .cache = build_cache};
    g->ops = ops;
    g->scope = "";
    g->passes = GRAPH_MERGE;
    g->error.struct_size = sizeof g->error;
    if (hooks)
        g->hooks = *hooks;
    g->nbuckets = 256;
    g->buckets = calloc(g->nbuckets, sizeof *g->buckets);
    const tutti_desc none = {{0}, 0, TUTTI_DTYPE_NONE};
    if (g->buckets)
        (void)graph_add_value(g, &none, VALUE_CONST, 0);
    if (!g->buckets || g->error.status) {
        graph_destroy(g);
        return NULL;
    }
    return g;
}
