/* exp_op.c - e to the power x, and its gradient. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/elementwise.h"
#include "exp/exp.h"

static tutti_status exp_vjp(tutti_graph *g, const tutti_node *n, const tutti_value *dy,
                            tutti_value *dx)
{
    if (n->need & 1)
        dx[0] = tutti_mul(g, dy[0], n->out[0]);
    return TUTTI_OK;
}

OP_POINTWISE(exp, F32, .onnx_type = "Exp");
OP_UNARY(exp, 6, exp_vjp);
