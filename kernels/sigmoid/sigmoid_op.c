/* sigmoid_op.c - 1 / (1 + exp(-x)), and its gradient from the output. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/elementwise.h"
#include "sigmoid/sigmoid.h"

static tutti_status sigmoid_vjp(tutti_graph *g, const tutti_node *n, const tutti_value *dy,
                                tutti_value *dx)
{
    if (n->need & 1)
        dx[0] = tutti_op2(g, "sigmoid_grad", dy[0], n->out[0]);
    return TUTTI_OK;
}

/* sigmoid_grad(dy, y) = dy y (1 - y). */
static tutti_status sigmoid_grad_vjp(tutti_graph *g, const tutti_node *n, const tutti_value *dy,
                                     tutti_value *dx)
{
    if (n->need & 1)
        dx[0] = tutti_op2(g, "sigmoid_grad", dy[0], n->in[1]);
    if (n->need & 2) {
        const tutti_value slope = tutti_affine(g, n->in[1], -2.0, 1.0);
        dx[1] = tutti_mul(g, tutti_mul(g, dy[0], n->in[0]), slope);
    }
    return TUTTI_OK;
}

OP_POINTWISE(sigmoid, WIDEST, .onnx_type = "Sigmoid");
OP_UNARY(sigmoid, 9, sigmoid_vjp);
OP_POINTWISE(sigmoid_grad, WIDEST);
OP_GRADIENT(sigmoid_grad, 1, sigmoid_grad_vjp);
