/* min_op.c - the lesser of a and b, broadcast, and its gradients. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/elementwise.h"
#include "min/min.h"

/* Where a and b are equal each gets half of the gradient. */
static tutti_status min_vjp(tutti_graph *g, const tutti_node *n, const tutti_value *dy,
                            tutti_value *dx)
{
    const tutti_value first = op_cmp(g, n->in[0], n->in[1], CMP_LT);
    const tutti_value both = op_cmp(g, n->in[0], n->in[1], CMP_EQ);
    const tutti_value share = tutti_add(g, first, tutti_affine(g, both, 0.5, 0.0));
    const tutti_value da = tutti_mul(g, dy[0], share);
    if (n->need & 1)
        dx[0] = op_sum_to(g, da, n->in[0]);
    if (n->need & 2)
        dx[1] = op_sum_to(g, tutti_sub(g, dy[0], da), n->in[1]);
    return TUTTI_OK;
}

OP_POINTWISE(min, WIDEST, .onnx_type = "Min");
OP_BINARY(min, 2, TUTTI_OP_COMMUTATIVE | TUTTI_OP_REPRODUCIBLE, min_vjp);
