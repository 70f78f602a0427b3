/* fuse_norms.c - a normalisation with the residual and the ReLU behind it as one node. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/ir/attr.h"
#include "graph/ir/traits.h"
#include "graph/passes/fuse.h"
#include "graph/passes/rewrite.h"

/* May `v`, the result of a normalisation, be computed by node `end` instead? */
static bool is_norm(const rewrite *r, tutti_value v, uint32_t end)
{
    const graph_node *n = rewrite_producer(r, v);
    if (!n || !traits_fusion(n->op, TUTTI_FUSE_RESIDUAL_RELU))
        return false;
    if (v != n->out || n->nin + 1 != n->op->nin_max || !rewrite_read_once(r, v) ||
        n->guard != graph_node_at(r->from, end)->guard || attr_get(n->op, n->attr, "act"))
        return false;
    for (uint32_t k = 1; k < n->op->nout; k++)
        if (r->first[v + k] <= end)
            return false;
    return true;
}

/* `k` is a ReLU; what goes into it may be a sum with a residual. */
static void find_norm(rewrite *r, uint32_t k)
{
    const graph_node *relu = graph_node_at(r->from, k);
    const tutti_value u = relu->in[0];
    const uint32_t before = graph_value_at(r->from, u)->index;
    if (is_norm(r, u, k)) {
        r->with[k] = before;
        r->gone[before] = true;
        return;
    }
    const graph_node *add = rewrite_producer(r, u);
    if (!add || !traits_have_role(add->op, TUTTI_ROLE_ADD) || add->guard != relu->guard ||
        !rewrite_read_once(r, u) || !rewrite_same_desc(r, add->in[0], add->in[1]))
        return;
    for (int j = 0; j < 2; j++) { /* of two normalisations the later one */
        const uint32_t norm = graph_value_at(r->from, add->in[j])->index;
        if (is_norm(r, add->in[j], k) && (r->with[k] == REWRITE_NONE || norm > r->with[k]))
            r->with[k] = norm;
    }
    if (r->with[k] != REWRITE_NONE)
        r->gone[r->with[k]] = r->gone[before] = true;
}

static void find_norms(rewrite *r)
{
    for (uint32_t k = 0; k < graph_nnodes(r->from); k++) {
        const graph_node *n = graph_node_at(r->from, k);
        if (traits_activation(n->op, TUTTI_ROLE_ACTIVATION, n->attr) == TUTTI_ACT_RELU)
            find_norm(r, k);
    }
}

static rewrite_node join_norm(const rewrite *r, uint32_t k)
{
    const graph_node *relu = graph_node_at(r->from, k);
    const graph_node *norm = graph_node_at(r->from, r->with[k]);
    rewrite_node n = rewrite_same(norm);
    if (relu->in[0] != norm->out) {
        const graph_node *add = rewrite_producer(r, relu->in[0]);
        n.in[n.nin++] = add->in[add->in[0] == norm->out];
    }
    n.op = traits_fusion(norm->op, TUTTI_FUSE_RESIDUAL_RELU);
    n.act = TUTTI_ACT_RELU;
    n.out[0] = relu->out;
    return n;
}

tutti_status fuse_norms(const graph *from, const bool *wanted, graph *to, tutti_value *ret_map,
                        tutti_error *err)
{
    static const rewrite_rule rule = {
        .find = find_norms, .join = join_norm, .passes = GRAPH_FOLD};
    return rewrite_graph(from, wanted, &rule, to, ret_map, err);
}
