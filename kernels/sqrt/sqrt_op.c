/* sqrt_op.c - square root. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/elementwise.h"

#include <math.h>

static tutti_status sqrt_vjp(tutti_graph *g, const tutti_node *n, const tutti_value *dy,
                             tutti_value *dx)
{
    if (n->need & 1)
        dx[0] = tutti_div(g, dy[0], tutti_affine(g, n->out[0], 2.0, 0.0));
    return TUTTI_OK;
}

OP_UNARY(sqrt, sqrtf(x), sqrt(x), sqrt_vjp)
