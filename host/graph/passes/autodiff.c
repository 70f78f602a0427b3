/* autodiff.c - automatic differentiation in reverse mode, graph to graph, by each op's gradient rule. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/passes/autodiff.h"
#include "graph/ir/attr.h"
#include "graph/ir/precision.h"
#include "graph/ir/traits.h"
#include "tutti/ops.h"

#include <stdio.h>
#include <stdlib.h>

/* needed[v]: v is, or depends on, one of the values asked for. */
static void mark_needed(const graph *g, uint32_t nnodes, const tutti_value *wrt, uint32_t nwrt,
                        bool *needed)
{
    for (uint32_t k = 0; k < nwrt; k++)
        if (wrt[k])
            needed[wrt[k]] = true;
    for (uint32_t k = 0; k < nnodes; k++) {
        const graph_node *n = graph_node_at(g, k);
        bool any = false;
        for (uint32_t j = 0; j < n->nin; j++)
            any = any || needed[n->in[j]];
        for (uint32_t j = 0; j < n->op->nout && any; j++)
            needed[n->out + j] = needed[n->out + j] ||
                                 graph_is_floating(graph_value_at(g, n->out + j)->desc.dtype);
    }
}

static tutti_value guard_of(const graph *g, tutti_value v)
{
    const graph_value *x = graph_value_at(g, v);
    return x->kind == VALUE_NODE ? graph_node_at(g, x->index)->guard : 0;
}

static bool is_zeros(const graph *g, tutti_value v)
{
    const graph_value *x = graph_value_at(g, v);
    while (x->kind == VALUE_NODE) {
        const graph_node *n = graph_node_at(g, x->index);
        if (!traits_have_role(n->op, TUTTI_ROLE_BROADCAST))
            return false;
        x = graph_value_at(g, n->in[0]);
    }
    return x->kind == VALUE_CONST && x->desc.dtype == TUTTI_F32 && tutti_numel(&x->desc) == 1 &&
           *(const float *)x->data == 0.0f;
}

/* The gradient of a look-up, rows added to zeros, adds them to what there is instead: for a table that
 * is also the head of a model.  0: `d` is something else. */
static tutti_value scatter_onto(graph *g, tutti_value adjoint, tutti_value d)
{
    tutti_graph *b = graph_builder(g);
    const graph_value *x = graph_value_at(g, d);
    if (x->kind != VALUE_NODE || b->desc(b, adjoint)->dtype != TUTTI_F32)
        return 0;
    const graph_node *n = graph_node_at(g, x->index);
    if (!traits_have_role(n->op, TUTTI_ROLE_SCATTER_ADD) || !is_zeros(g, n->in[0]))
        return 0;
    const tutti_value in[3] = {adjoint, n->in[1], n->in[2]};
    const tutti_attr axis = tutti_attr_i("axis", attr_get(n->op, n->attr, "axis"));
    return b->emit(b, n->op->name, in, 3, &axis, 1, NULL, 0);
}

/* A sum is guarded where both its terms are, by the same. */
static void add_to(graph *g, tutti_value *adjoint, tutti_value d)
{
    tutti_graph *b = graph_builder(g);
    const tutti_value guard = guard_of(g, d);
    const tutti_value before = graph_set_guard(g, guard_of(g, *adjoint) == guard ? guard : 0);
    const tutti_value onto =
        *adjoint && guard_of(g, *adjoint) == guard ? scatter_onto(g, *adjoint, d) : 0;
    if (*adjoint)
        *adjoint = onto ? onto : tutti_add(b, *adjoint, d);
    else
        *adjoint = d;
    (void)graph_set_guard(g, before);
}

/* Its dtype may differ: a gradient gets that of its value. */
static tutti_status check_shape(graph *g, const graph_node *n, uint32_t k, tutti_value dx)
{
    tutti_graph *b = graph_builder(g);
    char want[96], got[96], text[320];
    const tutti_desc *x = &graph_value_at(g, n->in[k])->desc, *d = b->desc(b, dx);
    if (tutti_same_shape(x, d) && graph_is_floating(d->dtype))
        return TUTTI_OK;
    (void)snprintf(text, sizeof text, "%s: its gradient for input %u is %s, the input is %s",
                   n->op->name, k, tutti_desc_text(d, got, sizeof got),
                   tutti_desc_text(x, want, sizeof want));
    return b->fail(b, TUTTI_E_SHAPE, text);
}

/* The value that casts to and from 8 bits made `v` of; `v` itself where there is no such cast. */
static const graph_value *behind_f8(const graph *g, const graph_value *v)
{
    const graph_value *found = v;
    for (const graph_value *x = v; x->kind == VALUE_NODE;) {
        const graph_node *n = graph_node_at(g, x->index);
        if (!traits_have_role(n->op, TUTTI_ROLE_CAST))
            break;
        const bool narrow = dtype_is_f8(x->desc.dtype);
        x = graph_value_at(g, n->in[0]);
        found = narrow ? x : found;
    }
    return found;
}

/* A gradient has the dtype of what it belongs to; a weight's is f32 without a rounding on the way, also
 * where the weight is read in 16 bits, or by way of 8.  That of 8 bits, `d`, stays as it is. */
static int32_t gradient_dtype(const graph *g, tutti_value v, tutti_value d)
{
    const graph_value *x = graph_value_at(g, v);
    const graph_node *n = x->kind == VALUE_NODE ? graph_node_at(g, x->index) : NULL;
    if (dtype_is_f8(x->desc.dtype))
        return graph_value_at(g, d)->desc.dtype;
    if (!n || !traits_have_role(n->op, TUTTI_ROLE_CAST))
        return x->desc.dtype;
    const graph_value *from = behind_f8(g, graph_value_at(g, n->in[0]));
    return from->kind == VALUE_WEIGHT ? from->desc.dtype : x->desc.dtype;
}

/* Emits node `k`'s gradient and adds it to the adjoints of its inputs. */
static tutti_status differentiate(graph *g, uint32_t k, const bool *needed,
                                  tutti_value *adjoint)
{
    tutti_graph *b = graph_builder(g);
    const graph_node n = *graph_node_at(g, k); /* emitting moves the array */
    tutti_value outs[TUTTI_OP_MAX_OUT], dy[TUTTI_OP_MAX_OUT], dx[TUTTI_OP_MAX_IN] = {0};
    tutti_node node = {sizeof node, n.nin, n.op->nout, 0, n.in, outs, n.attr};
    bool flows = false;
    for (uint32_t j = 0; j < n.op->nout; j++) {
        outs[j] = n.out + j;
        dy[j] = adjoint[outs[j]];
        flows = flows || dy[j];
    }
    for (uint32_t j = 0; j < n.nin; j++)
        if (needed[n.in[j]] && graph_is_floating(graph_value_at(g, n.in[j])->desc.dtype))
            node.need |= 1u << j;
    if (!flows || !node.need)
        return TUTTI_OK;
    (void)graph_set_scope(g, n.scope);
    if (!n.op->vjp) {
        char text[160];
        (void)snprintf(text, sizeof text, "%s: there is no gradient for this operation",
                       n.op->name);
        return b->fail(b, TUTTI_E_UNSUPPORTED, text);
    }
    const tutti_value guard = graph_set_guard(g, n.guard);
    const bool casts = traits_have_role(n.op, TUTTI_ROLE_CAST);
    if (casts) /* back to the dtype of the input, below */
        dx[0] = dy[0];
    const tutti_status s = casts ? TUTTI_OK : n.op->vjp(b, &node, dy, dx);
    (void)graph_set_guard(g, guard);
    if (s)
        (void)b->fail(b, s, "a gradient rule failed without a reason");
    for (uint32_t j = 0; j < n.nin && !b->status(b); j++)
        if (node.need >> j & 1 && dx[j] && check_shape(g, &n, j, dx[j]) == TUTTI_OK)
            add_to(g, &adjoint[n.in[j]],
                   graph_cast(g, dx[j], gradient_dtype(g, n.in[j], dx[j])));
    return b->status(b);
}

tutti_status graph_gradient_onto(graph *g, const tutti_value *out, const tutti_value *dout,
                                 uint32_t nout, const tutti_value *wrt, const tutti_value *onto,
                                 uint32_t nwrt, tutti_value *ret_d)
{
    tutti_graph *b = graph_builder(g);
    const uint32_t nvalues = graph_nvalues(g), nnodes = graph_nnodes(g);
    bool *needed = calloc(nvalues, sizeof *needed);
    tutti_value *adjoint = calloc(nvalues, sizeof *adjoint);
    const char *scope = graph_set_scope(g, "");
    if (!needed || !adjoint) {
        (void)b->fail(b, TUTTI_E_NOMEM, "no memory for the gradient");
        goto done;
    }
    mark_needed(g, nnodes, wrt, nwrt, needed);
    for (uint32_t k = 0; k < nwrt && onto; k++)
        if (wrt[k])
            adjoint[wrt[k]] = onto[k];
    for (uint32_t k = 0; k < nout; k++)
        if (out[k] && dout[k])
            add_to(g, &adjoint[out[k]], dout[k]);
    for (uint32_t k = nnodes; k-- > 0 && !b->status(b);)
        (void)differentiate(g, k, needed, adjoint);
    for (uint32_t k = 0; k < nwrt && !b->status(b); k++)
        ret_d[k] = adjoint[wrt[k]];
done:
    (void)graph_set_scope(g, scope);
    free(needed);
    free(adjoint);
    return b->status(b);
}

tutti_status graph_gradient(graph *g, const tutti_value *out, const tutti_value *dout,
                            uint32_t nout, const tutti_value *wrt, uint32_t nwrt,
                            tutti_value *ret_d)
{
    return graph_gradient_onto(g, out, dout, nout, wrt, NULL, nwrt, ret_d);
}
