/* fuse_epilogues.c - epilogue fusion: a product and the activation behind it, or its gradient, as one node. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/ir/attr.h"
#include "graph/ir/traits.h"
#include "graph/passes/fuse.h"
#include "graph/passes/rewrite.h"

/* TUTTI_ACT_* where node `n` is an activation, or the gradient of one. */
static int32_t act_of(const graph_node *n, int32_t role)
{
    return n ? traits_activation(n->op, role, n->attr) : TUTTI_ACT_NONE;
}

/* The product that gives `v` and may go together with node `n`; REWRITE_NONE. */
static uint32_t product_of(const rewrite *r, tutti_value v, const graph_node *n, int32_t with)
{
    const graph_node *p = rewrite_producer(r, v);
    const uint32_t k = graph_value_at(r->from, v)->index;
    const bool fits = p && traits_fusion(p->op, with) && rewrite_same_desc(r, v, n->out) &&
                      !attr_get(p->op, p->attr, "act") && p->guard == n->guard &&
                      p->segment == n->segment && r->with[k] == REWRITE_NONE && !r->gone[k];
    return fits ? k : REWRITE_NONE;
}

/* An activation is gone, and the product takes it in; of the gradient of one it is the product. */
static void find_pairs(rewrite *r)
{
    for (uint32_t k = 0; k < graph_nnodes(r->from); k++) {
        const graph_node *n = graph_node_at(r->from, k);
        if (act_of(n, TUTTI_ROLE_ACTIVATION)) {
            const uint32_t p = product_of(r, n->in[0], n, TUTTI_FUSE_ACTIVATION);
            if (p != REWRITE_NONE) {
                r->with[p] = k;
                r->gone[k] = true;
            }
        } else if (act_of(n, TUTTI_ROLE_ACTIVATION_GRAD) &&
                   rewrite_same_desc(r, n->in[1], n->out)) {
            const uint32_t p = product_of(r, n->in[0], n, TUTTI_FUSE_ACTIVATION_GRAD);
            if (p != REWRITE_NONE && graph_node_at(r->from, p)->nin == 2 &&
                rewrite_read_once(r, n->in[0])) {
                r->with[k] = p;
                r->gone[p] = true;
            }
        }
    }
}

/* What ReLU `y` of a product is taken of, if nobody reads that; 0: it is something else. */
static tutti_value hidden_sums(const rewrite *r, tutti_value y)
{
    const graph_node *relu = rewrite_producer(r, y);
    const bool is_relu = act_of(relu, TUTTI_ROLE_ACTIVATION) == TUTTI_ACT_RELU;
    const graph_node *p = is_relu ? rewrite_producer(r, relu->in[0]) : NULL;
    const uint32_t k = p ? graph_value_at(r->from, p->out)->index : 0;
    const bool is = p && r->with[k] == graph_value_at(r->from, y)->index &&
                    traits_fusion(p->op, TUTTI_FUSE_ACTIVATION_MASK) &&
                    rewrite_read_once(r, p->out);
    return is ? p->out : 0;
}

/* Does a gradient that is one with its product read ReLU `y`? */
static bool has_gradient(const rewrite *r, tutti_value y)
{
    for (uint32_t k = 0; k < graph_nnodes(r->from); k++) {
        const graph_node *n = graph_node_at(r->from, k);
        if (act_of(n, TUTTI_ROLE_ACTIVATION_GRAD) == TUTTI_ACT_RELU && n->in[1] == y &&
            r->with[k] != REWRITE_NONE)
            return true;
    }
    return false;
}

static rewrite_node join_pair(const rewrite *r, uint32_t k)
{
    const graph_node *n = graph_node_at(r->from, k);
    const graph_node *other = graph_node_at(r->from, r->with[k]);
    const int32_t grad = act_of(n, TUTTI_ROLE_ACTIVATION_GRAD);
    if (grad)
        return (rewrite_node){.op = traits_fusion(other->op, TUTTI_FUSE_ACTIVATION_GRAD),
                              .place = n,
                              .like = other,
                              .act = grad,
                              .nin = 3,
                              .nout = 1,
                              .in = {other->in[0], other->in[1], n->in[1]},
                              .out = {n->out}};
    rewrite_node product = rewrite_same(n);
    product.op = traits_fusion(n->op, TUTTI_FUSE_ACTIVATION);
    product.act = act_of(other, TUTTI_ROLE_ACTIVATION);
    product.out[0] = other->out;
    if (r->nreaders[n->out] > 1 || r->wanted[n->out]) {
        product.op = traits_fusion(n->op, TUTTI_FUSE_ACTIVATION_KEPT);
        product.out[product.nout++] = n->out;
    }
    return product;
}

/* With a mask of bits in the place of ReLU's sums, which nobody reads, for the gradient. */
static rewrite_node join_masked(const rewrite *r, uint32_t k)
{
    rewrite_node n = join_pair(r, k);
    const bool forward = n.place == n.like;
    const tutti_value y = forward ? n.out[0] : n.in[2];
    const tutti_value sums = n.act == TUTTI_ACT_RELU && n.nout == 1 ? hidden_sums(r, y) : 0;
    if (sums && forward && has_gradient(r, y)) {
        n.op = traits_fusion(n.like->op, TUTTI_FUSE_ACTIVATION_MASK);
        n.out[n.nout++] = sums;
    } else if (sums && !forward) {
        n.op = traits_fusion(n.like->op, TUTTI_FUSE_MASK_GRAD);
        n.in[2] = sums;
    }
    return n;
}

tutti_status fuse_epilogues_masked(const graph *from, const bool *wanted, graph *to,
                                   tutti_value *ret_map, tutti_error *err)
{
    static const rewrite_rule rule = {
        .find = find_pairs, .join = join_masked, .passes = GRAPH_PLAIN, .dtypes = true};
    return rewrite_graph(from, wanted, &rule, to, ret_map, err);
}

tutti_status fuse_epilogues(const graph *from, const bool *wanted, graph *to,
                            tutti_value *ret_map, tutti_error *err)
{
    static const rewrite_rule rule = {
        .find = find_pairs, .join = join_pair, .passes = GRAPH_PLAIN, .dtypes = true};
    return rewrite_graph(from, wanted, &rule, to, ret_map, err);
}
