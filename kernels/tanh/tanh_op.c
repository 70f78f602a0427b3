/* tanh_op.c - hyperbolic tangent. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/elementwise.h"

#include <math.h>

static tutti_status tanh_vjp(tutti_graph *g, const tutti_node *n, const tutti_value *dy,
                             tutti_value *dx)
{
    if (n->need & 1)
        dx[0] =
            tutti_mul(g, dy[0], tutti_affine(g, tutti_mul(g, n->out[0], n->out[0]), -1.0, 1.0));
    return TUTTI_OK;
}

OP_UNARY(tanh, tanhf(x), tanh(x), tanh_vjp)
