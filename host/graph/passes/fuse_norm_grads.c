/* fuse_norm_grads.c - layer norm's gradient and the addition of a residual's as one node. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/ir/traits.h"
#include "graph/passes/fuse.h"
#include "graph/passes/rewrite.h"

/* The gradient of a layer norm whose dx is `v`, for node `end` alone; REWRITE_NONE.  Nobody wants the
 * sums for gamma and beta before `end`. */
static uint32_t grad_of(const rewrite *r, tutti_value v, uint32_t end)
{
    const graph_node *n = rewrite_producer(r, v), *sum = graph_node_at(r->from, end);
    bool fits = n && traits_fusion(n->op, TUTTI_FUSE_RESIDUAL_GRAD) &&
                n->nin + 1 == n->op->nin_max && v == n->out && rewrite_read_once(r, v) &&
                n->guard == sum->guard && n->segment == sum->segment;
    for (uint32_t k = 1; fits && k < n->op->nout; k++)
        fits = r->first[v + k] > end;
    return fits ? graph_value_at(r->from, v)->index : REWRITE_NONE;
}

static void find_pairs(rewrite *r)
{
    for (uint32_t k = 0; k < graph_nnodes(r->from); k++) {
        const graph_node *n = graph_node_at(r->from, k);
        if (!traits_have_role(n->op, TUTTI_ROLE_ADD) || n->nin != 2 ||
            !rewrite_same_desc(r, n->in[0], n->in[1]))
            continue;
        for (uint32_t j = 0; j < 2; j++) { /* of two the later one */
            const uint32_t grad = grad_of(r, n->in[j], k);
            if (grad != REWRITE_NONE && (r->with[k] == REWRITE_NONE || grad > r->with[k]))
                r->with[k] = grad;
        }
        if (r->with[k] != REWRITE_NONE)
            r->gone[r->with[k]] = true;
    }
}

static rewrite_node join_pair(const rewrite *r, uint32_t k)
{
    const graph_node *sum = graph_node_at(r->from, k);
    const graph_node *grad = graph_node_at(r->from, r->with[k]);
    rewrite_node n = rewrite_same(grad);
    n.op = traits_fusion(grad->op, TUTTI_FUSE_RESIDUAL_GRAD);
    n.place = sum;
    n.in[n.nin++] = sum->in[sum->in[0] == grad->out];
    n.out[0] = sum->out;
    return n;
}

tutti_status fuse_norm_grads(const graph *from, const bool *wanted, graph *to,
                             tutti_value *ret_map, tutti_error *err)
{
    static const rewrite_rule rule = {
        .find = find_pairs, .join = join_pair, .passes = GRAPH_PLAIN, .dtypes = true};
    return rewrite_graph(from, wanted, &rule, to, ret_map, err);
}
