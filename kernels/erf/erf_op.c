/* erf_op.c - the error function, and its gradient. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/elementwise.h"
#include "erf/erf.h"

static tutti_status erf_vjp(tutti_graph *g, const tutti_node *n, const tutti_value *dy,
                            tutti_value *dx)
{
    /* 2 / sqrt(pi) exp(-x^2) */
    const tutti_value x2 = tutti_mul(g, n->in[0], n->in[0]);
    const tutti_value e = tutti_op1(g, "exp", tutti_affine(g, x2, -1.0, 0.0));
    if (n->need & 1)
        dx[0] = tutti_mul(g, dy[0], tutti_affine(g, e, 1.1283791670955126, 0.0));
    return TUTTI_OK;
}

OP_POINTWISE(erf, WIDEST, .onnx_type = "Erf");
OP_UNARY(erf, 14, erf_vjp);
