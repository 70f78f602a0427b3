/* sub_op.c - a - b, broadcast. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/elementwise.h"

#include <math.h>

static tutti_status sub_vjp(tutti_graph *g, const tutti_node *n, const tutti_value *dy,
                            tutti_value *dx)
{
    if (n->need & 1)
        dx[0] = op_sum_to(g, dy[0], n->in[0]);
    if (n->need & 2)
        dx[1] = op_sum_to(g, tutti_affine(g, dy[0], -1.0, 0.0), n->in[1]);
    return TUTTI_OK;
}

OP_BINARY(sub, 0, x - y, x - y, sub_vjp)
