/* min_op.c - the smaller of a and b, broadcast; ties go to a. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/elementwise.h"

#include <math.h>

static tutti_status min_vjp(tutti_graph *g, const tutti_node *n, const tutti_value *dy,
                            tutti_value *dx)
{
    const tutti_value in[2] = {n->in[0], n->in[1]};
    const tutti_attr kind = tutti_attr_i("kind", 3);
    const tutti_value first = g->emit(g, "cmp", in, 2, &kind, 1, NULL, 0);
    if (n->need & 1)
        dx[0] = op_sum_to(g, tutti_mul(g, dy[0], first), n->in[0]);
    if (n->need & 2)
        dx[1] = op_sum_to(g, tutti_mul(g, dy[0], tutti_affine(g, first, -1.0, 1.0)), n->in[1]);
    return TUTTI_OK;
}

OP_BINARY(min, TUTTI_OP_COMMUTATIVE, x <= y ? x : y, x <= y ? x : y, min_vjp)
