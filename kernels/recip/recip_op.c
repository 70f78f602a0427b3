/* recip_op.c - 1 / x. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/elementwise.h"

#include <math.h>

static tutti_status recip_vjp(tutti_graph *g, const tutti_node *n, const tutti_value *dy,
                              tutti_value *dx)
{
    if (n->need & 1)
        dx[0] =
            tutti_affine(g, tutti_mul(g, dy[0], tutti_mul(g, n->out[0], n->out[0])), -1.0, 0.0);
    return TUTTI_OK;
}

OP_UNARY(recip, 1.0f / x, 1.0 / x, recip_vjp)
