/* softplus_op.c - log(1 + exp(x)), whose gradient is the sigmoid. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/elementwise.h"
#include "softplus/softplus.h"

static tutti_status softplus_vjp(tutti_graph *g, const tutti_node *n, const tutti_value *dy,
                                 tutti_value *dx)
{
    if (n->need & 1)
        dx[0] = tutti_mul(g, dy[0], tutti_op1(g, "sigmoid", n->in[0]));
    return TUTTI_OK;
}

OP_POINTWISE(softplus, WIDEST, .onnx_type = "Softplus");
OP_UNARY(softplus, 20, softplus_vjp);
