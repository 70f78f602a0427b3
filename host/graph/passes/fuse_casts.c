/* fuse_casts.c - results are stored in the 16 bits in which they are read. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/ir/precision.h"
#include "graph/ir/traits.h"
#include "graph/passes/fuse.h"
#include "graph/passes/rewrite.h"

#include <string.h>

static int32_t dtype_of(const rewrite *r, tutti_value v)
{
    return graph_value_at(r->from, v)->desc.dtype;
}

/* Where kernels are to read and write 16 bits by themselves: on a device that says so they all do, on the CPU those
 * whose flags say so. */
typedef bool writes_fn(const tutti_op *op, int32_t dtype);

static bool always(const tutti_op *op, int32_t dtype)
{
    (void)op, (void)dtype;
    return true;
}

static bool may_narrow(const rewrite *r, const graph_node *n, int32_t dtype)
{
    tutti_desc in[TUTTI_OP_MAX_IN];
    const tutti_op_call call = {.struct_size = sizeof call,
                                .nin = n->nin,
                                .nout = n->op->nout,
                                .threads = 1,
                                .in = in,
                                .attr = n->attr};
    for (uint32_t k = 0; k < n->nin; k++)
        in[k] = graph_value_at(r->from, n->in[k])->desc;
    return graph_op_is_built_in(r->from, n->op) && precision_may_narrow(n->op, &call, dtype);
}

/* The node whose result 0 is `v`, F32, that might store it in `dtype` and for which nothing is planned; else NULL. */
static const graph_node *unplanned(const rewrite *r, tutti_value v, int32_t dtype)
{
    const graph_node *n = rewrite_producer(r, v);
    const bool fits = n && n->out == v && dtype_of(r, v) == TUTTI_F32 && dtype_is_half(dtype) &&
                      r->with[graph_value_at(r->from, v)->index] == REWRITE_NONE;
    return fits ? n : NULL;
}

/* That node, if `v` is read once and may be `dtype`; else NULL. */
static const graph_node *narrows(const rewrite *r, writes_fn *writes, tutti_value v,
                                 int32_t dtype)
{
    const graph_node *n = unplanned(r, v, dtype);
    return n && writes(n->op, dtype) && rewrite_read_once(r, v) && may_narrow(r, n, dtype)
               ? n
               : NULL;
}

/* That node, if it can give `dtype` beside `v`; else NULL. */
static const graph_node *gives_both(const rewrite *r, writes_fn *writes, tutti_value v,
                                    int32_t dtype)
{
    const graph_node *n = unplanned(r, v, dtype);
    return n && writes(n->op, dtype) && traits_fusion(n->op, TUTTI_FUSE_CAST) &&
                   graph_op_is_built_in(r->from, n->op)
               ? n
               : NULL;
}

static void find_cast(rewrite *r, writes_fn *writes, uint32_t k)
{
    const graph_node *cast = graph_node_at(r->from, k);
    const int32_t dtype = dtype_of(r, cast->out);
    const graph_node *n = narrows(r, writes, cast->in[0], dtype);
    if (!n)
        n = gives_both(r, writes, cast->in[0], dtype);
    if (!n || n->guard != cast->guard)
        return;
    r->with[graph_value_at(r->from, n->out)->index] = k;
    r->gone[k] = true;
}

/* Node `k` is a norm's gradient, which reads 16 bits as it reads the F32 that they were cast to. */
static void find_wide(rewrite *r, writes_fn *writes, uint32_t k)
{
    const graph_node *grad = graph_node_at(r->from, k);
    for (uint32_t j = 0; j < grad->nin && graph_op_is_built_in(r->from, grad->op); j++) {
        const graph_node *cast = rewrite_producer(r, grad->in[j]);
        if (!cast || !traits_have_role(cast->op, TUTTI_ROLE_CAST) ||
            dtype_of(r, cast->out) != TUTTI_F32 || !dtype_is_half(dtype_of(r, cast->in[0])) ||
            !writes(grad->op, dtype_of(r, cast->in[0])) || !rewrite_read_once(r, cast->out) ||
            cast->guard != grad->guard || r->with[k] != REWRITE_NONE)
            continue;
        r->with[k] = graph_value_at(r->from, cast->out)->index;
        r->gone[r->with[k]] = true;
    }
}

/* Node `k` is a norm's gradient.  A product that is the gradient of something in 16 bits, and had become F32
 * for its reader alone, has 16 bits again. */
static void find_products(rewrite *r, writes_fn *writes, uint32_t k)
{
    const graph_node *grad = graph_node_at(r->from, k);
    for (uint32_t j = 0; j < grad->nin; j++) {
        const graph_node *p = rewrite_producer(r, grad->in[j]);
        if (!p || !p->segment || traits_of(p->op)->precision != TUTTI_AUTOCAST_PRODUCT ||
            !narrows(r, writes, grad->in[j], dtype_of(r, p->in[0])))
            continue;
        const uint32_t at = graph_value_at(r->from, p->out)->index;
        r->with[at] = at;
    }
}

static void find_where(rewrite *r, writes_fn *writes)
{
    for (uint32_t k = 0; k < graph_nnodes(r->from); k++) {
        const tutti_op *op = graph_node_at(r->from, k)->op;
        if (traits_have_role(op, TUTTI_ROLE_CAST)) {
            find_cast(r, writes, k);
        } else if (traits_fusion(op, TUTTI_FUSE_RESIDUAL_GRAD)) {
            find_products(r, writes, k);
            find_wide(r, writes, k);
        }
    }
}

static void find_all(rewrite *r)
{
    find_where(r, always);
}

static void find_cpu(rewrite *r)
{
    find_where(r, precision_cpu_writes);
}

static rewrite_node join(const rewrite *r, uint32_t k)
{
    rewrite_node n = rewrite_same(graph_node_at(r->from, k));
    const graph_node *cast = graph_node_at(r->from, r->with[k]);
    if (r->with[k] == k) {
        n.dtype = dtype_of(r, n.in[0]);
    } else if (cast->in[0] == n.out[0] && rewrite_read_once(r, n.out[0])) {
        n.out[0] = cast->out;
    } else if (cast->in[0] == n.out[0]) {
        n.op = traits_fusion(n.like->op, TUTTI_FUSE_CAST);
        n.out[n.nout++] = cast->out;
    }
    for (uint32_t j = 0; j < n.nin && r->with[k] != k; j++)
        if (n.in[j] == cast->out)
            n.in[j] = cast->in[0];
    return n;
}

tutti_status fuse_casts(const graph *from, const bool *wanted, graph *to, tutti_value *ret_map,
                        tutti_error *err)
{
    static const rewrite_rule rule = {
        .find = find_all, .join = join, .passes = GRAPH_PLAIN, .dtypes = true};
    return rewrite_graph(from, wanted, &rule, to, ret_map, err);
}

tutti_status fuse_casts_cpu(const graph *from, const bool *wanted, graph *to,
                            tutti_value *ret_map, tutti_error *err)
{
    static const rewrite_rule rule = {
        .find = find_cpu, .join = join, .passes = GRAPH_PLAIN, .dtypes = true};
    return rewrite_graph(from, wanted, &rule, to, ret_map, err);
}
