/* precision.c - which operations give 16 bits, which f32. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/ir/precision.h"
#include "graph/ir/attr.h"
#include "graph/ir/traits.h"

#include <string.h>

/* Elementwise operations that say nothing are WIDEST, others F32. */
static int32_t rule_of(const tutti_op *op)
{
    const int32_t said = traits_of(op)->precision;
    return said                               ? said
           : op->flags & TUTTI_OP_ELEMENTWISE ? TUTTI_AUTOCAST_WIDEST
                                              : TUTTI_AUTOCAST_F32;
}

static int width(int32_t dtype)
{
    return dtype == TUTTI_F64 ? 3 : dtype == TUTTI_F32 ? 2 : dtype_is_half(dtype) ? 1 : 0;
}

/* Those of one element count only where all are such. */
static int32_t widest(const tutti_op_call *c)
{
    int32_t many = TUTTI_DTYPE_NONE, any = TUTTI_DTYPE_NONE;
    for (uint32_t k = 0; k < c->nin; k++) {
        const int32_t d = c->in[k].dtype;
        if (width(d) > width(any))
            any = d;
        if (width(d) > width(many) && tutti_numel(&c->in[k]) != 1)
            many = d;
    }
    return many != TUTTI_DTYPE_NONE ? many : any != TUTTI_DTYPE_NONE ? any : TUTTI_F32;
}

static bool any_half(const tutti_op_call *c)
{
    for (uint32_t k = 0; k < c->nin; k++)
        if (dtype_is_half(c->in[k].dtype))
            return true;
    return false;
}

static int32_t result_dtype(const tutti_op *op, const tutti_op_call *c,
                            const graph_autocast *autocast, uint32_t k)
{
    switch (rule_of(op)) {
    case TUTTI_AUTOCAST_PRODUCT:
        if (!(traits_of(op)->low_out >> k & 1))
            return TUTTI_F32;
        if (autocast->dtype)
            return autocast->dtype;
        for (uint32_t j = 0; j < c->nin; j++) /* a graph without a precision of its own */
            if (dtype_is_half(c->in[j].dtype))
                return c->in[j].dtype;
        return TUTTI_F32;
    case TUTTI_AUTOCAST_KEEP:
        return k == 0 ? c->in[0].dtype : TUTTI_F32;
    case TUTTI_AUTOCAST_WIDEST:
        return widest(c);
    default:
        return TUTTI_F32;
    }
}

tutti_status precision_infer(const tutti_op *op, const tutti_op_call *c,
                             const graph_autocast *autocast, tutti_desc *out, tutti_error *err)
{
    const bool mixed = any_half(c);
    if (!mixed && !(autocast->dtype && rule_of(op) == TUTTI_AUTOCAST_PRODUCT))
        return op->infer(c, out, err);
    /* What moves numbers without reading them takes any dtype. */
    if (mixed && op->infer(c, out, NULL) == TUTTI_OK)
        return TUTTI_OK;
    tutti_desc in[TUTTI_OP_MAX_IN];
    tutti_op_call wide = *c;
    for (uint32_t k = 0; k < c->nin; k++) {
        in[k] = c->in[k];
        in[k].dtype = dtype_is_half(in[k].dtype) ? TUTTI_F32 : in[k].dtype;
    }
    wide.in = in;
    const tutti_status s = op->infer(&wide, out, err);
    for (uint32_t k = 0; k < op->nout && !s; k++)
        if (out[k].dtype == TUTTI_F32)
            out[k].dtype = result_dtype(op, c, autocast, k);
    return s;
}

/* There in f32 for the whole run of the graph, whether anybody reads it or not. */
static bool stays(const graph *g, tutti_value v)
{
    const graph_value *x = graph_value_at(g, v);
    while (x->kind == VALUE_NODE && graph_node_at(g, x->index)->op->flags & TUTTI_OP_VIEW)
        x = graph_value_at(g, graph_node_at(g, x->index)->in[0]);
    return x->kind != VALUE_NODE;
}

/* What operand k of a product is to be cast to; 0: it stays as it is. */
static int32_t factor_dtype(const graph *g, const tutti_op *op, const graph_autocast *autocast,
                            tutti_value v, uint32_t k)
{
    const int32_t dtype = v && v < graph_nvalues(g) ? graph_value_at(g, v)->desc.dtype : 0;
    if (!(traits_of(op)->low_in >> k & 1))
        return 0;
    if (dtype_is_f8(dtype)) /* exact: each of the others holds every number of 8 bits */
        return autocast->dtype ? autocast->dtype : TUTTI_F32;
    if (!autocast->dtype || dtype != TUTTI_F32)
        return 0;
    /* Storing a gradient once more would not save anything: it is read and gone. */
    return autocast->everything || !(graph_segment(g) || stays(g, v)) ? autocast->dtype : 0;
}

bool precision_cast_operands(graph *g, const tutti_op *op, const graph_autocast *autocast,
                             const tutti_value *in, uint32_t nin, tutti_value *ret_in)
{
    bool any = false;
    if (rule_of(op) != TUTTI_AUTOCAST_PRODUCT || nin > TUTTI_OP_MAX_IN)
        return false;
    for (uint32_t k = 0; k < nin; k++) {
        const int32_t dtype = factor_dtype(g, op, autocast, in[k], k);
        ret_in[k] = dtype ? graph_cast(g, in[k], dtype) : in[k];
        any = any || dtype;
    }
    return any;
}

bool precision_is_native(const tutti_op *op, const tutti_op_call *c)
{
    tutti_desc out[TUTTI_OP_MAX_OUT];
    bool half = any_half(c), alike = true;
    for (uint32_t k = 0; k < c->nin; k++)
        alike = alike && (!dtype_is_half(c->in[k].dtype) || tutti_same_shape(&c->in[k], c->in));
    for (uint32_t k = 0; k < c->nout; k++) {
        half = half || dtype_is_half(c->out[k].dtype);
        alike =
            alike && (!dtype_is_half(c->out[k].dtype) || tutti_same_shape(&c->out[k], c->in));
    }
    if (!half || (alike && op->flags & TUTTI_OP_HALF))
        return true;
    tutti_op_call call = *c;
    call.out = NULL;
    if (op->infer(&call, out, NULL))
        return false;
    for (uint32_t k = 0; k < c->nout; k++)
        if (out[k].dtype != c->out[k].dtype)
            return false;
    return true;
}

/* Does it take operand 0 in `dtype` without reading its numbers? */
static bool moves(const tutti_op *op, const tutti_op_call *c, int32_t dtype)
{
    tutti_desc in[TUTTI_OP_MAX_IN], out[TUTTI_OP_MAX_OUT];
    tutti_op_call call = *c;
    memcpy(in, c->in, sizeof *in * c->nin);
    in[0].dtype = dtype;
    call.in = in;
    call.out = NULL;
    return op->infer(&call, out, NULL) == TUTTI_OK;
}

static bool all_have(const tutti_op_call *c, int32_t dtype)
{
    for (uint32_t k = 0; k < c->nin; k++)
        if (graph_is_floating(c->in[k].dtype) && c->in[k].dtype != dtype)
            return false;
    return true;
}

bool precision_may_narrow(const tutti_op *op, const tutti_op_call *c, int32_t dtype)
{
    const tutti_op_traits *t = traits_of(op);
    if (!c->nin || c->nin > TUTTI_OP_MAX_IN || op->flags & TUTTI_OP_VIEW)
        return false;
    if (t->precision == TUTTI_AUTOCAST_PRODUCT)
        return op->nout == 1 && t->low_out & 1 && all_have(c, dtype);
    return t->precision == TUTTI_AUTOCAST_F32 && t->role == TUTTI_ROLE_OTHER &&
           t->pointwise == TUTTI_POINTWISE_NONE && !moves(op, c, dtype);
}

bool precision_cpu_writes(const tutti_op *op, int32_t dtype)
{
    return op->flags & TUTTI_OP_HALF || (op->flags & TUTTI_OP_BF16 && dtype == TUTTI_BF16 &&
                                         rule_of(op) == TUTTI_AUTOCAST_PRODUCT);
}

/* A product that nobody has read yet can give another dtype at once. */
static bool is_fresh_product(const graph *g, tutti_value v)
{
    const graph_value *x = graph_value_at(g, v);
    if (x->kind != VALUE_NODE)
        return false;
    const graph_node *n = graph_node_at(g, x->index);
    if (n->out != v || n->segment != graph_segment(g) ||
        rule_of(n->op) != TUTTI_AUTOCAST_PRODUCT)
        return false;
    for (uint32_t k = x->index + 1; k < graph_nnodes(g); k++)
        for (uint32_t j = 0; j < graph_node_at(g, k)->nin; j++)
            if (graph_node_at(g, k)->in[j] == v)
                return false;
    return true;
}

/* The result of a cast of `v` that is there already; else 0. */
static tutti_value find_cast(const graph *g, tutti_value v, int32_t dtype, tutti_value guard)
{
    for (uint32_t k = graph_nnodes(g); k > 0; k--) {
        const graph_node *n = graph_node_at(g, k - 1);
        if (n->nin == 1 && n->in[0] == v && n->guard == guard &&
            traits_have_role(n->op, TUTTI_ROLE_CAST) &&
            graph_value_at(g, n->out)->desc.dtype == dtype)
            return n->out;
    }
    return 0;
}

/* Where `v` is a view of something that has been cast, the same view of that: nothing is moved twice.  Else 0. */
static tutti_value view_of_cast(graph *g, tutti_value v, int32_t dtype)
{
    const graph_value *x = graph_value_at(g, v);
    const graph_node *n = x->kind == VALUE_NODE ? graph_node_at(g, x->index) : NULL;
    if (!n || !(n->op->flags & TUTTI_OP_VIEW) || n->nin != 1 || n->op->nfields > GRAPH_MAX_ATTR)
        return 0;
    tutti_attr attr[GRAPH_MAX_ATTR];
    tutti_list lists[GRAPH_MAX_ATTR];
    tutti_value of = find_cast(g, n->in[0], dtype, n->guard);
    if (!of)
        of = view_of_cast(g, n->in[0], dtype);
    if (!of)
        return 0;
    n = graph_node_at(g, x->index); /* nodes have moved where some were added */
    const tutti_op *op = n->op;
    attr_encode(op, n->attr, lists, attr);
    tutti_graph *b = graph_builder(g);
    return b->emit(b, op->name, &of, 1, attr, (uint32_t)op->nfields, NULL, 0);
}

tutti_value graph_cast(graph *g, tutti_value v, int32_t dtype)
{
    if (!graph_builder(g)->status(graph_builder(g)) && dtype == TUTTI_F32 &&
        is_fresh_product(g, v)) {
        graph_set_dtype(g, v, dtype);
        return v;
    }
    return graph_cast_rounded(g, v, dtype);
}

tutti_value graph_cast_rounded(graph *g, tutti_value v, int32_t dtype)
{
    tutti_graph *b = graph_builder(g);
    if (b->status(b) || graph_value_at(g, v)->desc.dtype == dtype)
        return v;
    const graph_value *x = graph_value_at(g, v);
    const tutti_attr to = tutti_attr_i("dtype", dtype);
    const tutti_value before =
        graph_set_guard(g, x->kind == VALUE_NODE ? graph_node_at(g, x->index)->guard : 0);
    const tutti_op *cast = graph_op_with_role(g, TUTTI_ROLE_CAST);
    const tutti_value shared = view_of_cast(g, v, dtype);
    if (shared)
        v = shared;
    else
        v = cast ? b->emit(b, cast->name, &v, 1, &to, 1, NULL, 0) : 0;
    if (!cast)
        (void)b->fail(b, TUTTI_E_NOTFOUND, "there is no operation that casts");
    (void)graph_set_guard(g, before);
    return v;
}
