/* sqrt_op.c - the square root, and its gradient. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/elementwise.h"
#include "sqrt/sqrt.h"

static tutti_status sqrt_vjp(tutti_graph *g, const tutti_node *n, const tutti_value *dy,
                             tutti_value *dx)
{
    if (n->need & 1)
        dx[0] = tutti_affine(g, tutti_div(g, dy[0], n->out[0]), 0.5, 0.0);
    return TUTTI_OK;
}

OP_POINTWISE(sqrt, WIDEST, .onnx_type = "Sqrt");
OP_UNARY(sqrt, 3, sqrt_vjp);
