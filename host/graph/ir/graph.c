/* graph.c - the SSA graph as data: values, nodes, how the next ones are made. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/ir/graph_internal.h"
#include "graph/ir/traits.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

tutti_graph *graph_builder(graph *g)
{
    return &g->api;
}

tutti_status graph_out_of_memory(graph *g)
{
    return tutti_fail(&g->error, TUTTI_E_NOMEM, "no memory for the graph");
}

bool graph_reserve(void *array, uint32_t *capacity, uint32_t used, uint32_t more, size_t size)
{
    if (used + more <= *capacity)
        return true;
    uint32_t next = *capacity ? *capacity * 2 : 64;
    while (next < used + more)
        next *= 2;
    void *old;
    memcpy(&old, array, sizeof old);
    void *grown = realloc(old, next * size);
    if (!grown)
        return false;
    memcpy(array, &grown, sizeof grown);
    *capacity = next;
    return true;
}

tutti_value graph_add_value(graph *g, const tutti_desc *desc, int32_t kind, uint32_t index)
{
    if (!graph_reserve(&g->values, &g->value_capacity, g->nvalues, 1, sizeof *g->values)) {
        graph_out_of_memory(g);
        return 0;
    }
    g->values[g->nvalues] = (graph_value){*desc, kind, index, NULL, 0, 0};
    return g->nvalues++;
}

tutti_value graph_input(graph *g, const tutti_desc *desc)
{
    return g->error.status ? 0 : graph_add_value(g, desc, VALUE_INPUT, g->ninputs++);
}

tutti_value graph_weight(graph *g, uint32_t id, const tutti_desc *desc, bool trainable)
{
    const tutti_value v = g->error.status ? 0 : graph_add_value(g, desc, VALUE_WEIGHT, id);
    if (v)
        g->values[v].trainable = trainable;
    return v;
}

tutti_status graph_fail_at(graph *g, tutti_status status, const char *text)
{
    return *g->scope ? tutti_fail(&g->error, status, "%s: %s", g->scope, text)
                     : tutti_fail(&g->error, status, "%s", text);
}

void graph_destroy(graph *g)
{
    if (!g)
        return;
    pool_free(&g->memory);
    free(g->values);
    free(g->nodes);
    free(g->assigns);
    free(g->buckets);
    free(g);
}

void graph_set_fast(graph *g, int32_t fast)
{
    g->fast = fast;
}

void graph_set_passes(graph *g, int32_t passes)
{
    g->passes = passes;
}

void graph_set_expand(graph *g, bool expand)
{
    g->expand = expand;
}

void graph_set_autocast(graph *g, const graph_autocast *autocast)
{
    g->autocast = *autocast;
}

void graph_set_dtype(graph *g, tutti_value v, int32_t dtype)
{
    g->values[v].desc.dtype = dtype;
}

tutti_value graph_set_guard(graph *g, tutti_value guard)
{
    const tutti_value before = g->guard;
    g->guard = guard;
    return before;
}

const tutti_op *graph_op(const graph *g, const char *name, tutti_error *err)
{
    tutti_error why = TUTTI_ERROR_INIT;
    for (const tutti_op *const *op = g->ops; *op; op++)
        if (strcmp((*op)->name, name) == 0)
            return *op;
    const tutti_op *own = g->hooks.op ? g->hooks.op(g->hooks.ctx, name, &why) : NULL;
    if (!own && why.status && why.status != TUTTI_E_NOTFOUND)
        (void)tutti_fail(err, why.status, "%s", why.text);
    else if (!own)
        (void)tutti_fail(err, TUTTI_E_NOTFOUND, "there is no operation \"%s\"", name);
    return own;
}

bool graph_op_is_built_in(const graph *g, const tutti_op *op)
{
    const tutti_op *const *at = g->ops;
    while (*at && *at != op)
        at++;
    return *at != NULL;
}

const tutti_op *graph_op_with_role(const graph *g, int32_t role)
{
    for (const tutti_op *const *op = g->ops; *op; op++)
        if (traits_have_role(*op, role))
            return *op;
    return NULL;
}

int32_t graph_segment(const graph *g)
{
    return g->segment;
}

void graph_set_segment(graph *g, int32_t segment)
{
    g->segment = segment;
}

const char *graph_set_scope(graph *g, const char *path)
{
    const char *before = g->scope;
    const size_t size = strlen(path) + 1;
    char *copy = pool_take(&g->memory, size);
    if (!copy) {
        graph_out_of_memory(g);
        return before;
    }
    memcpy(copy, path, size);
    g->scope = copy;
    return before;
}

tutti_status graph_error(const graph *g, tutti_error *err)
{
    return g->error.status ? tutti_fail(err, g->error.status, "%s", g->error.text) : TUTTI_OK;
}

uint32_t graph_nvalues(const graph *g)
{
    return g->nvalues;
}

const graph_value *graph_value_at(const graph *g, tutti_value v)
{
    assert(v < g->nvalues);
    return &g->values[v];
}

uint32_t graph_nnodes(const graph *g)
{
    return g->nnodes;
}

const graph_node *graph_node_at(const graph *g, uint32_t k)
{
    assert(k < g->nnodes);
    return &g->nodes[k];
}

uint32_t graph_nassigns(const graph *g)
{
    return g->nassigns;
}

graph_assign graph_assign_at(const graph *g, uint32_t k)
{
    return g->assigns[k];
}

uint64_t graph_bytes(const graph *g)
{
    return sizeof *g + pool_bytes(&g->memory) + g->value_capacity * sizeof *g->values +
           g->node_capacity * sizeof *g->nodes + g->assign_capacity * sizeof *g->assigns +
           g->nbuckets * sizeof *g->buckets;
}
