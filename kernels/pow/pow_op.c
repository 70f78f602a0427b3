/* pow_op.c - a to the power b, broadcast; a above 0. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/elementwise.h"

#include <math.h>

static tutti_status pow_vjp(tutti_graph *g, const tutti_node *n, const tutti_value *dy,
                            tutti_value *dx)
{
    if (n->need & 1) { /* dy b a^(b-1) */
        const tutti_value p =
            tutti_op2(g, "pow", n->in[0], tutti_affine(g, n->in[1], 1.0, -1.0));
        dx[0] = op_sum_to(g, tutti_mul(g, dy[0], tutti_mul(g, n->in[1], p)), n->in[0]);
    }
    if (n->need & 2) { /* dy a^b log a */
        const tutti_value l = tutti_op1(g, "log", n->in[0]);
        dx[1] = op_sum_to(g, tutti_mul(g, dy[0], tutti_mul(g, n->out[0], l)), n->in[1]);
    }
    return TUTTI_OK;
}

OP_BINARY(pow, 0, powf(x, y), pow(x, y), pow_vjp)
