/* fuse_relu_grads.c - a norm's gradient with ReLU's before it, and the addition before that, as one node. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/ir/traits.h"
#include "graph/passes/fuse.h"
#include "graph/passes/rewrite.h"

/* May node `j`, which reads the gradient `du` that node `k` gives, be computed where that is? */
static bool fits(const rewrite *r, uint32_t j, uint32_t k)
{
    const graph_node *norm = graph_node_at(r->from, j), *relu = graph_node_at(r->from, k);
    const tutti_value du = relu->out;
    if (!traits_fusion(norm->op, TUTTI_FUSE_RELU_GRAD) || norm->nin != norm->op->nin_min ||
        norm->in[1] != du || norm->guard != relu->guard || norm->segment != relu->segment ||
        !rewrite_same_desc(r, norm->in[0], du))
        return false;
    bool before = true;
    for (uint32_t i = 0; i < norm->nin; i++)
        before = before && (i == 1 || norm->in[i] < du);
    return before;
}

/* The addition that gives `v` to node `k` alone; NULL: there is none. */
static const graph_node *addition(const rewrite *r, tutti_value v, uint32_t k)
{
    const graph_node *add = rewrite_producer(r, v), *relu = graph_node_at(r->from, k);
    const bool joins =
        add && traits_have_role(add->op, TUTTI_ROLE_ADD) && add->nin == 2 &&
        rewrite_read_once(r, v) && add->guard == relu->guard && add->segment == relu->segment &&
        rewrite_same_desc(r, add->in[0], add->in[1]) && rewrite_same_desc(r, add->in[0], v);
    return joins ? add : NULL;
}

static void find_grads(rewrite *r)
{
    for (uint32_t k = 0; k < graph_nnodes(r->from); k++) {
        const graph_node *n = graph_node_at(r->from, k);
        if (traits_activation(n->op, TUTTI_ROLE_ACTIVATION_GRAD, n->attr) != TUTTI_ACT_RELU ||
            !rewrite_same_desc(r, n->in[0], n->out) || !rewrite_same_desc(r, n->in[1], n->out))
            continue;
        for (uint32_t j = k + 1; j < graph_nnodes(r->from) && r->with[k] == REWRITE_NONE; j++)
            if (!r->gone[j] && fits(r, j, k))
                r->with[k] = j;
        if (r->with[k] == REWRITE_NONE)
            continue;
        r->gone[r->with[k]] = true;
        if (addition(r, n->in[0], k))
            r->gone[graph_value_at(r->from, n->in[0])->index] = true;
    }
}

static rewrite_node join_grads(const rewrite *r, uint32_t k)
{
    const graph_node *relu = graph_node_at(r->from, k);
    const graph_node *norm = graph_node_at(r->from, r->with[k]);
    const graph_node *add = addition(r, relu->in[0], k);
    rewrite_node n = rewrite_same(norm);
    n.op = traits_fusion(norm->op, TUTTI_FUSE_RELU_GRAD);
    n.in[1] = add ? add->in[0] : relu->in[0];
    n.in[n.nin++] = relu->in[1];
    if (add)
        n.in[n.nin++] = add->in[1];
    n.out[n.nout++] = relu->out;
    return n;
}

tutti_status fuse_relu_grads(const graph *from, const bool *wanted, graph *to,
                             tutti_value *ret_map, tutti_error *err)
{
    static const rewrite_rule rule = {
        .find = find_grads, .join = join_grads, .passes = GRAPH_PLAIN, .dtypes = true};
    return rewrite_graph(from, wanted, &rule, to, ret_map, err);
}
