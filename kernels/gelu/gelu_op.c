/* gelu_op.c - the Gaussian error linear unit, and its gradient. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/elementwise.h"
#include "common/onnx.h"
#include "gelu/gelu.h"
#include "gelu/gelu_graph.h"

static const tutti_attr_field fields[] = {OP_FIELD_I64(gelu_attr, approximate, 0)};

/* gelu_grad(dy, x) = dy gelu'(x). */
static tutti_value emit_grad(tutti_graph *g, tutti_value d, tutti_value x, const gelu_attr *a)
{
    const tutti_value in[2] = {d, x};
    const tutti_attr attr = tutti_attr_i("approximate", a->approximate);
    return g->emit(g, "gelu_grad", in, 2, &attr, 1, NULL, 0);
}

static tutti_status gelu_vjp(tutti_graph *g, const tutti_node *n, const tutti_value *dy,
                             tutti_value *dx)
{
    if (n->need & 1)
        dx[0] = emit_grad(g, dy[0], n->in[0], n->attr);
    return TUTTI_OK;
}

static tutti_status gelu_grad_vjp(tutti_graph *g, const tutti_node *n, const tutti_value *dy,
                                  tutti_value *dx)
{
    if (n->need & 1)
        dx[0] = emit_grad(g, dy[0], n->in[1], n->attr);
    if (n->need & 2)
        dx[1] = tutti_mul(g, tutti_mul(g, dy[0], n->in[0]), gelu_second(g, n->in[1], n->attr));
    return TUTTI_OK;
}

static int32_t gelu_activation(const void *attr)
{
    const gelu_attr *a = attr;
    return a->approximate ? TUTTI_ACT_GELU_TANH : TUTTI_ACT_GELU;
}

static tutti_value gelu_onnx(const tutti_onnx *o)
{
    const tutti_value x = o->in[0];
    tutti_value inner;
    if (((const gelu_attr *)o->call->attr)->approximate) {
        const tutti_value cube = onnx_op2(o, "Mul", x, onnx_op2(o, "Mul", x, x));
        inner = onnx_op2(o, "Add", x, onnx_op2(o, "Mul", cube, onnx_number(o, 0.044715)));
        inner =
            onnx_op1(o, "Tanh", onnx_op2(o, "Mul", inner, onnx_number(o, sqrt(2.0 / M_PI))));
    } else
        inner = onnx_op1(o, "Erf", onnx_op2(o, "Mul", x, onnx_number(o, sqrt(0.5))));
    const tutti_value share = onnx_op2(o, "Add", inner, onnx_number(o, 1.0));
    return onnx_op2(o, "Mul", onnx_op2(o, "Mul", x, onnx_number(o, 0.5)), share);
}

OP_TRAITS(gelu, WIDEST, WHOLE, CONSTANTS, SAME, UNCOUNTED, CODE, ACTIVATION,
          .activation = gelu_activation, .onnx = gelu_onnx);
OP_UNARY_ATTR(gelu, gelu_attr, fields, 20, gelu_vjp);
OP_TRAITS(gelu_grad, WIDEST, WHOLE, CONSTANTS, SAME, UNCOUNTED, CODE, ACTIVATION_GRAD,
          .activation = gelu_activation);
OP_GRADIENT_ATTR(gelu_grad, gelu_attr, fields, 24, gelu_grad_vjp);
