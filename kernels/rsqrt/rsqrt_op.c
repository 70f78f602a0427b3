/* rsqrt_op.c - 1 / sqrt(x). */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/elementwise.h"

#include <math.h>

static tutti_status rsqrt_vjp(tutti_graph *g, const tutti_node *n, const tutti_value *dy,
                              tutti_value *dx)
{
    if (n->need & 1)
        dx[0] = tutti_affine(
            g, tutti_mul(g, dy[0], tutti_mul(g, n->out[0], tutti_mul(g, n->out[0], n->out[0]))),
            -0.5, 0.0);
    return TUTTI_OK;
}

OP_UNARY(rsqrt, 1.0f / sqrtf(x), 1.0 / sqrt(x), rsqrt_vjp)
