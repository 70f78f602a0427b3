/* fuse_accumulate.c - a product or a convolution's sums and the addition behind it as one node. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/ir/attr.h"
#include "graph/ir/traits.h"
#include "graph/passes/fuse.h"
#include "graph/passes/rewrite.h"

/* What node `n` and an addition are together; NULL: nothing. */
static const char *joined(const graph_node *n)
{
    return attr_get(n->op, n->attr, "act") ? NULL : traits_fusion(n->op, TUTTI_FUSE_ADD);
}

/* The product that gives `v` to node `n` alone; REWRITE_NONE. */
static uint32_t product_of(const rewrite *r, tutti_value v, const graph_node *n)
{
    const graph_node *p = rewrite_producer(r, v);
    const graph_value *x = graph_value_at(r->from, v);
    const bool fits = p && joined(p) && rewrite_read_once(r, v) && p->guard == n->guard &&
                      p->segment == n->segment &&
                      tutti_same_shape(&x->desc, &graph_value_at(r->from, n->out)->desc);
    return fits ? x->index : REWRITE_NONE;
}

/* Of two products the later one, which can add to the other as it comes.  What is added has the
 * shape and dtype of the sum. */
static void find_pairs(rewrite *r)
{
    for (uint32_t k = 0; k < graph_nnodes(r->from); k++) {
        const graph_node *n = graph_node_at(r->from, k);
        for (uint32_t j = 0; j < 2 && traits_have_role(n->op, TUTTI_ROLE_ADD) && n->nin == 2;
             j++) {
            const uint32_t p = product_of(r, n->in[j], n);
            if (p != REWRITE_NONE && rewrite_same_desc(r, n->in[1 - j], n->out) &&
                (r->with[k] == REWRITE_NONE || p > r->with[k]))
                r->with[k] = p;
        }
        if (r->with[k] != REWRITE_NONE)
            r->gone[r->with[k]] = true;
    }
}

static rewrite_node join_pair(const rewrite *r, uint32_t k)
{
    const graph_node *sum = graph_node_at(r->from, k);
    const graph_node *p = graph_node_at(r->from, r->with[k]);
    rewrite_node n = {.op = joined(p),
                      .place = sum,
                      .like = p,
                      .nin = p->nin + 1,
                      .nout = 1,
                      .in = {p->in[0], p->in[1], sum->in[sum->in[0] == p->out]},
                      .out = {sum->out}};
    if (p->nin > 2)
        n.in[3] = p->in[2];
    return n;
}

tutti_status fuse_accumulate(const graph *from, const bool *wanted, graph *to,
                             tutti_value *ret_map, tutti_error *err)
{
    static const rewrite_rule rule = {
        .find = find_pairs, .join = join_pair, .passes = GRAPH_PLAIN, .dtypes = true};
    return rewrite_graph(from, wanted, &rule, to, ret_map, err);
}
