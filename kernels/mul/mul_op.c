/* mul_op.c - a b, broadcast, and its gradients. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/elementwise.h"
#include "mul/mul.h"

static tutti_status mul_vjp(tutti_graph *g, const tutti_node *n, const tutti_value *dy,
                            tutti_value *dx)
{
    for (int k = 0; k < 2; k++)
        if (n->need >> k & 1)
            dx[k] = op_sum_to(g, tutti_mul(g, dy[0], n->in[1 - k]), n->in[k]);
    return TUTTI_OK;
}

OP_TRAITS(mul, WIDEST, WHOLE, IDENTITY, SAME, UNCOUNTED, CODE, OTHER,
          .identity = op_unit_either, .onnx_type = "Mul");
OP_BINARY(mul, 1, TUTTI_OP_COMMUTATIVE | TUTTI_OP_REPRODUCIBLE, mul_vjp);
