/* axpby_op.c - a x + b y, broadcast, the numbers in the node: interpolation. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "axpby/axpby.h"
#include "common/elementwise.h"
#include "common/onnx.h"

static const tutti_attr_field fields[] = {OP_FIELD_F64(axpby_attr, a, 1.0),
                                          OP_FIELD_F64(axpby_attr, b, 1.0)};

static tutti_status axpby_vjp(tutti_graph *g, const tutti_node *n, const tutti_value *dy,
                              tutti_value *dx)
{
    const axpby_attr *a = n->attr;
    if (n->need & 1)
        dx[0] = tutti_affine(g, op_sum_to(g, dy[0], n->in[0]), a->a, 0.0);
    if (n->need & 2)
        dx[1] = tutti_affine(g, op_sum_to(g, dy[0], n->in[1]), a->b, 0.0);
    return TUTTI_OK;
}

static tutti_value axpby_onnx(const tutti_onnx *o)
{
    const axpby_attr *a = o->call->attr;
    return onnx_op2(o, "Add", onnx_op2(o, "Mul", o->in[0], onnx_number(o, a->a)),
                    onnx_op2(o, "Mul", o->in[1], onnx_number(o, a->b)));
}

OP_POINTWISE(axpby, WIDEST, .onnx = axpby_onnx);
OP_BINARY_ATTR(axpby, axpby_attr, fields, 1, axpby_vjp);
