/* silu_op.c - x sigmoid(x), and its gradient. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/elementwise.h"
#include "common/onnx.h"
#include "silu/silu.h"

static tutti_status silu_vjp(tutti_graph *g, const tutti_node *n, const tutti_value *dy,
                             tutti_value *dx)
{
    if (n->need & 1)
        dx[0] = tutti_op2(g, "silu_grad", dy[0], n->in[0]);
    return TUTTI_OK;
}

/* silu_grad(dy, x) = dy silu'(x); silu'' = s (1 - s) (2 + x (1 - 2 s)), s = sigmoid(x). */
static tutti_status silu_grad_vjp(tutti_graph *g, const tutti_node *n, const tutti_value *dy,
                                  tutti_value *dx)
{
    if (n->need & 1)
        dx[0] = tutti_op2(g, "silu_grad", dy[0], n->in[1]);
    if (n->need & 2) {
        const tutti_value x = n->in[1], s = tutti_op1(g, "sigmoid", x);
        const tutti_value bend =
            tutti_affine(g, tutti_mul(g, x, tutti_affine(g, s, -2.0, 1.0)), 1.0, 2.0);
        const tutti_value second =
            tutti_mul(g, tutti_mul(g, s, tutti_affine(g, s, -1.0, 1.0)), bend);
        dx[1] = tutti_mul(g, tutti_mul(g, dy[0], n->in[0]), second);
    }
    return TUTTI_OK;
}

static tutti_value silu_onnx(const tutti_onnx *o)
{
    return onnx_op2(o, "Mul", o->in[0], onnx_op1(o, "Sigmoid", o->in[0]));
}

OP_POINTWISE(silu, WIDEST, .onnx = silu_onnx);
OP_UNARY(silu, 10, silu_vjp);
OP_POINTWISE(silu_grad, WIDEST);
OP_GRADIENT(silu_grad, 12, silu_grad_vjp);
