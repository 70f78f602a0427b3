/* recip_op.c - 1 / x, and its gradient. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/elementwise.h"
#include "recip/recip.h"

static tutti_status recip_vjp(tutti_graph *g, const tutti_node *n, const tutti_value *dy,
                              tutti_value *dx)
{
    /* -dy y^2 */
    const tutti_value y2 = tutti_mul(g, n->out[0], n->out[0]);
    if (n->need & 1)
        dx[0] = tutti_affine(g, tutti_mul(g, dy[0], y2), -1.0, 0.0);
    return TUTTI_OK;
}

OP_POINTWISE(recip, F32, .onnx_type = "Reciprocal");
OP_UNARY(recip, 3, recip_vjp);
