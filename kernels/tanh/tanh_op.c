/* tanh_op.c - the hyperbolic tangent, and its gradient from the output. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/elementwise.h"
#include "tanh/tanh.h"

static tutti_status tanh_vjp(tutti_graph *g, const tutti_node *n, const tutti_value *dy,
                             tutti_value *dx)
{
    if (n->need & 1)
        dx[0] = tutti_op2(g, "tanh_grad", dy[0], n->out[0]);
    return TUTTI_OK;
}

/* tanh_grad(dy, y) = dy (1 - y^2). */
static tutti_status tanh_grad_vjp(tutti_graph *g, const tutti_node *n, const tutti_value *dy,
                                  tutti_value *dx)
{
    if (n->need & 1)
        dx[0] = tutti_op2(g, "tanh_grad", dy[0], n->in[1]);
    if (n->need & 2) {
        const tutti_value slope = tutti_affine(g, n->in[1], -2.0, 0.0);
        dx[1] = tutti_mul(g, tutti_mul(g, dy[0], n->in[0]), slope);
    }
    return TUTTI_OK;
}

OP_POINTWISE(tanh, WIDEST, .onnx_type = "Tanh");
OP_UNARY(tanh, 14, tanh_vjp);
OP_POINTWISE(tanh_grad, WIDEST);
OP_GRADIENT(tanh_grad, 1, tanh_grad_vjp);
