/* abs_op.c - the absolute value, and its gradient. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "abs/abs.h"
#include "common/elementwise.h"

static tutti_status abs_vjp(tutti_graph *g, const tutti_node *n, const tutti_value *dy,
                            tutti_value *dx)
{
    /* dy sign(x), and sign(0) = 0 */
    const tutti_value zero = op_scalar(g, 0.0), x = n->in[0];
    const tutti_value sign =
        tutti_sub(g, op_cmp(g, x, zero, CMP_GT), op_cmp(g, x, zero, CMP_LT));
    if (n->need & 1)
        dx[0] = tutti_mul(g, dy[0], sign);
    return TUTTI_OK;
}

OP_POINTWISE(abs, WIDEST, .onnx_type = "Abs");
OP_UNARY(abs, 1, abs_vjp);
