/* fuse_epilogues.c - a product and the activation, or an activation's gradient, behind it as one node. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/ir/attr.h"
#include "graph/passes/fuse.h"
#include "graph/passes/rewrite.h"

enum { RELU = 1, GELU, GELU_TANH }; /* attribute `act` of matmul */

/* 0: it is none. */
static int64_t act_of(const graph_node *n, const char *relu, const char *gelu)
{
    if (rewrite_is_op(n, relu))
        return RELU;
    return !rewrite_is_op(n, gelu)                   ? 0
           : attr_get(n->op, n->attr, "approximate") ? GELU_TANH
                                                     : GELU;
}

/* The product that gives `v` and may go together with node `n`; REWRITE_NONE. */
static uint32_t product_of(const rewrite *r, tutti_value v, const graph_node *n)
{
    const graph_node *p = rewrite_producer(r, v);
    const uint32_t k = graph_value_at(r->from, v)->index;
    const bool fits = rewrite_is_op(p, "matmul") && rewrite_same_desc(r, v, n->out) &&
                      !attr_get(p->op, p->attr, "act") && p->guard == n->guard &&
                      p->segment == n->segment && r->with[k] == REWRITE_NONE && !r->gone[k];
    return fits ? k : REWRITE_NONE;
}

/* An activation is gone, and the product takes it in; of the gradient of one it is the product. */
static void find_pairs(rewrite *r)
{
    for (uint32_t k = 0; k < graph_nnodes(r->from); k++) {
        const graph_node *n = graph_node_at(r->from, k);
        if (act_of(n, "relu", "gelu")) {
            const uint32_t p = product_of(r, n->in[0], n);
            if (p != REWRITE_NONE) {
                r->with[p] = k;
                r->gone[k] = true;
            }
        } else if (act_of(n, "relu_grad", "gelu_grad") &&
                   rewrite_same_desc(r, n->in[1], n->out)) {
            const uint32_t p = product_of(r, n->in[0], n);
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
    const graph_node *p = rewrite_is_op(relu, "relu") ? rewrite_producer(r, relu->in[0]) : NULL;
    const uint32_t k = p ? graph_value_at(r->from, p->out)->index : 0;
    const bool is = p && r->with[k] == graph_value_at(r->from, y)->index &&
                    rewrite_is_op(p, "matmul") && rewrite_read_once(r, p->out);
    return is ? p->out : 0;
}

/* Does a gradient that is one with its product read ReLU `y`? */
static bool has_gradient(const rewrite *r, tutti_value y)
{
    for (uint32_t k = 0; k < graph_nnodes(r->from); k++) {
        const graph_node *n = graph_node_at(r->from, k);
        if (rewrite_is_op(n, "relu_grad") && n->in[1] == y && r->with[k] != REWRITE_NONE)
            return true;
    }
    return false;
}

static rewrite_node join_pair(const rewrite *r, uint32_t k)
{
    const graph_node *n = graph_node_at(r->from, k);
    const graph_node *other = graph_node_at(r->from, r->with[k]);
    if (rewrite_is_op(other, "matmul"))
        return (rewrite_node){.op = "matmul_act_grad",
                              .place = n,
                              .like = other,
                              .act = act_of(n, "relu_grad", "gelu_grad"),
                              .nin = 3,
                              .nout = 1,
                              .in = {other->in[0], other->in[1], n->in[1]},
                              .out = {n->out}};
    rewrite_node product = rewrite_same(n);
    product.act = act_of(other, "relu", "gelu");
    product.out[0] = other->out;
    if (r->nreaders[n->out] > 1 || r->wanted[n->out]) {
        product.op = "matmul_act";
        product.out[product.nout++] = n->out;
    }
    return product;
}

/* With a mask of bits in the place of ReLU's sums, which nobody reads, for the gradient. */
static rewrite_node join_masked(const rewrite *r, uint32_t k)
{
    rewrite_node n = join_pair(r, k);
    const bool forward = rewrite_is_op(n.place, "matmul");
    const tutti_value y = forward ? n.out[0] : n.in[2];
    const tutti_value sums = n.act == RELU && n.nout == 1 ? hidden_sums(r, y) : 0;
    if (sums && forward && has_gradient(r, y)) {
        n.op = "matmul_relu";
        n.out[n.nout++] = sums;
    } else if (sums && !forward) {
        n.op = "matmul_relu_grad";
        n.in[2] = sums;
    }
    return n;
}

tutti_status fuse_epilogues_masked(const graph *from, const bool *wanted, graph *to,
                                   tutti_value *ret_map, tutti_error *err)
{
    static const rewrite_rule rule = {find_pairs, join_masked, GRAPH_PLAIN, true};
    return rewrite_graph(from, wanted, &rule, to, ret_map, err);
}

tutti_status fuse_epilogues(const graph *from, const bool *wanted, graph *to,
                            tutti_value *ret_map, tutti_error *err)
{
    static const rewrite_rule rule = {find_pairs, join_pair, GRAPH_PLAIN, true};
    return rewrite_graph(from, wanted, &rule, to, ret_map, err);
}
