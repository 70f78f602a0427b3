/* sigmoid_op.c - 1 / (1 + exp(-x)). */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/elementwise.h"

#include <math.h>

static tutti_status sigmoid_vjp(tutti_graph *g, const tutti_node *n, const tutti_value *dy,
                                tutti_value *dx)
{
    if (n->need & 1)
        dx[0] =
            tutti_mul(g, dy[0], tutti_mul(g, n->out[0], tutti_affine(g, n->out[0], -1.0, 1.0)));
    return TUTTI_OK;
}

OP_UNARY(sigmoid, 1.0f / (1.0f + expf(-x)), 1.0 / (1.0 + exp(-x)), sigmoid_vjp)
