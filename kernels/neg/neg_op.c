/* neg_op.c - -x. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/elementwise.h"

#include <math.h>

static tutti_status neg_vjp(tutti_graph *g, const tutti_node *n, const tutti_value *dy,
                            tutti_value *dx)
{
    if (n->need & 1)
        dx[0] = tutti_op1(g, "neg", dy[0]);
    return TUTTI_OK;
}

OP_UNARY(neg, -x, -x, neg_vjp)
