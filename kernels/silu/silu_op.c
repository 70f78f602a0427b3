/* silu_op.c - x sigmoid(x). */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/elementwise.h"

#include <math.h>

static tutti_status silu_vjp(tutti_graph *g, const tutti_node *n, const tutti_value *dy,
                             tutti_value *dx)
{
    /* s + y (1 - s), s = sigmoid(x) */
    const tutti_value s = tutti_op1(g, "sigmoid", n->in[0]);
    const tutti_value d =
        tutti_add(g, s, tutti_mul(g, n->out[0], tutti_affine(g, s, -1.0, 1.0)));
    if (n->need & 1)
        dx[0] = tutti_mul(g, dy[0], d);
    return TUTTI_OK;
}

OP_UNARY(silu, x / (1.0f + expf(-x)), x / (1.0 + exp(-x)), silu_vjp)
