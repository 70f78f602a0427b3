/* across_slots.c - synchronized batch norm (SyncBatchNorm), statistics of the whole batch: sums over slots between totals and what is made of them. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/passes/across_slots.h"
#include "graph/ir/attr.h"
#include "graph/ir/traits.h"
#include "graph/passes/rewrite.h"
#include "tutti/ops.h"
#include "tutti_internal/op_slots.h"

#include <stdio.h>
#include <string.h>

static bool has_statistics(const graph_node *n)
{
    return traits_fusion(n->op, TUTTI_FUSE_SLOT_TOTALS) &&
           traits_fusion(n->op, TUTTI_FUSE_ACROSS_SLOTS);
}

/* Whether the module of node `k` has another one before it. */
static bool is_again(const graph *g, uint32_t k)
{
    const graph_node *n = graph_node_at(g, k);
    for (uint32_t j = 0; j < k; j++) {
        const graph_node *other = graph_node_at(g, j);
        if (has_statistics(other) && *n->scope && strcmp(other->scope, n->scope) == 0)
            return true;
    }
    return false;
}

/* Operands as they are always there, then the totals, then the others. */
static void emit(graph *to, const graph_node *n, tutti_value *map)
{
    tutti_graph *b = graph_builder(to);
    const tutti_op *sum = graph_op_with_role(to, TUTTI_ROLE_SLOT_SUM);
    tutti_attr attr[GRAPH_MAX_ATTR];
    tutti_list lists[GRAPH_MAX_ATTR];
    tutti_value in[TUTTI_OP_MAX_IN], out[TUTTI_OP_MAX_OUT] = {0};
    if (!sum || n->op->nfields > GRAPH_MAX_ATTR || n->nin >= TUTTI_OP_MAX_IN) {
        (void)b->fail(b, TUTTI_E_NOTFOUND, "there is no operation that sums over slots");
        return;
    }
    for (uint32_t k = 0; k < n->nin; k++)
        in[k + (k >= n->op->nin_min)] = map[n->in[k]];
    in[n->op->nin_min] =
        tutti_op1(b, sum->name,
                  tutti_op1(b, traits_fusion(n->op, TUTTI_FUSE_SLOT_TOTALS), map[n->in[0]]));
    attr_encode(n->op, n->attr, lists, attr);
    (void)b->emit(b, traits_fusion(n->op, TUTTI_FUSE_ACROSS_SLOTS), in, n->nin + 1, attr,
                  (uint32_t)n->op->nfields, out, n->op->nout);
    for (uint32_t k = 0; k < n->op->nout; k++)
        map[n->out + k] = out[k];
}

static void copy_node(const graph *from, uint32_t k, graph *to, tutti_value *map)
{
    const graph_node *n = graph_node_at(from, k);
    tutti_graph *b = graph_builder(to);
    const rewrite_node same = rewrite_same(n);
    char text[360];
    if (!has_statistics(n)) {
        rewrite_emit(to, &same, map);
        return;
    }
    graph_set_segment(to, n->segment);
    (void)graph_set_scope(to, n->scope);
    if (is_again(from, k)) {
        (void)snprintf(text, sizeof text,
                       "%s normalises parts of a microbatch, as ghost_batchnorm does, which "
                       "statistics of whole batches exclude: distributed.batch_norm is "
                       "\"world\", want \"slot\"",
                       n->op->name);
        (void)b->fail(b, TUTTI_E_UNSUPPORTED, text);
        return;
    }
    (void)graph_set_guard(to, map[n->guard]);
    emit(to, n, map);
    (void)graph_set_guard(to, 0);
}

tutti_status across_slots(const graph *from, const bool *wanted, graph *to,
                          tutti_value *ret_map, tutti_error *err)
{
    (void)wanted;
    tutti_graph *b = graph_builder(to);
    memset(ret_map, 0, sizeof *ret_map * graph_nvalues(from));
    graph_set_passes(to, GRAPH_FOLD);
    for (tutti_value v = 1; v < graph_nvalues(from) && !b->status(b); v++) {
        const graph_value *x = graph_value_at(from, v);
        if (x->kind != VALUE_NODE)
            ret_map[v] = rewrite_leaf(from, v, to);
        else if (graph_node_at(from, x->index)->out == v)
            copy_node(from, x->index, to, ret_map);
    }
    if (!b->status(b))
        rewrite_assigns(from, to, ret_map);
    return graph_error(to, err);
}
