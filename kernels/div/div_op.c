/* div_op.c - a / b, broadcast. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/elementwise.h"

#include <math.h>

static tutti_status div_vjp(tutti_graph *g, const tutti_node *n, const tutti_value *dy,
                            tutti_value *dx)
{
    const tutti_value da = tutti_div(g, dy[0], n->in[1]);
    if (n->need & 1)
        dx[0] = op_sum_to(g, da, n->in[0]);
    if (n->need & 2) /* -dy a / b^2 */
        dx[1] = op_sum_to(g, tutti_affine(g, tutti_mul(g, da, n->out[0]), -1.0, 0.0), n->in[1]);
    return TUTTI_OK;
}

OP_BINARY(div, 0, x / y, x / y, div_vjp)
