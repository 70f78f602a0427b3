/* rsqrt_op.c - 1 / sqrt(x), and its gradient. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/elementwise.h"
#include "common/onnx.h"
#include "rsqrt/rsqrt.h"

static tutti_status rsqrt_vjp(tutti_graph *g, const tutti_node *n, const tutti_value *dy,
                              tutti_value *dx)
{
    /* -dy y^3 / 2 */
    const tutti_value y = n->out[0], y3 = tutti_mul(g, y, tutti_mul(g, y, y));
    if (n->need & 1)
        dx[0] = tutti_affine(g, tutti_mul(g, dy[0], y3), -0.5, 0.0);
    return TUTTI_OK;
}

static tutti_value rsqrt_onnx(const tutti_onnx *o)
{
    return onnx_op1(o, "Reciprocal", onnx_op1(o, "Sqrt", o->in[0]));
}

OP_POINTWISE(rsqrt, F32, .onnx = rsqrt_onnx);
OP_UNARY(rsqrt, 4, rsqrt_vjp);
