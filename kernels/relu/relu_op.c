/* relu_op.c - max(x, 0), and its gradient from the output. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/elementwise.h"
#include "relu/relu.h"

/* relu_grad(dy, y): linear in dy; y passes no gradient. */
static tutti_status relu_vjp(tutti_graph *g, const tutti_node *n, const tutti_value *dy,
                             tutti_value *dx)
{
    if (n->need & 1)
        dx[0] = tutti_op2(g, "relu_grad", dy[0], n->out[0]);
    return TUTTI_OK;
}

static tutti_status relu_grad_vjp(tutti_graph *g, const tutti_node *n, const tutti_value *dy,
                                  tutti_value *dx)
{
    if (n->need & 1)
        dx[0] = tutti_op2(g, "relu_grad", dy[0], n->in[1]);
    return TUTTI_OK;
}

static int32_t relu_activation(const void *attr)
{
    (void)attr;
    return TUTTI_ACT_RELU;
}

OP_TRAITS(relu, WIDEST, WHOLE, CONSTANTS, SAME, UNCOUNTED, CODE, ACTIVATION,
          .activation = relu_activation, .onnx_type = "Relu");
OP_UNARY(relu, 1, relu_vjp);
OP_TRAITS(relu_grad, WIDEST, WHOLE, CONSTANTS, SAME, UNCOUNTED, CODE, ACTIVATION_GRAD,
          .activation = relu_activation);
OP_GRADIENT(relu_grad, 1, relu_grad_vjp);
