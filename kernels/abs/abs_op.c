/* abs_op.c - absolute value; the gradient at 0 is 1. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/elementwise.h"

#include <math.h>

static tutti_status abs_vjp(tutti_graph *g, const tutti_node *n, const tutti_value *dy,
                            tutti_value *dx)
{
    const tutti_value x = n->in[0], zero = tutti_affine(g, x, 0.0, 0.0);
    const tutti_value pair[2] = {x, zero};
    const tutti_attr kind = tutti_attr_i("kind", 5); /* x >= 0 */
    const tutti_value sign =
        tutti_affine(g, g->emit(g, "cmp", pair, 2, &kind, 1, NULL, 0), 2.0, -1.0);
    if (n->need & 1)
        dx[0] = tutti_mul(g, dy[0], sign);
    return TUTTI_OK;
}

OP_UNARY(abs, fabsf(x), fabs(x), abs_vjp)
