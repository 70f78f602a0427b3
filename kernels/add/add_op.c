/* add_op.c - a + b, broadcast, and its gradients. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "add/add.h"
#include "common/elementwise.h"

static tutti_status add_vjp(tutti_graph *g, const tutti_node *n, const tutti_value *dy,
                            tutti_value *dx)
{
    for (int k = 0; k < 2; k++)
        if (n->need >> k & 1)
            dx[k] = op_sum_to(g, dy[0], n->in[k]);
    return TUTTI_OK;
}

OP_TRAITS(add, WIDEST, WHOLE, IDENTITY, SAME, UNCOUNTED, CODE, ADD, .identity = op_zero_either,
          .onnx_type = "Add");
OP_BINARY(add, 1, TUTTI_OP_COMMUTATIVE | TUTTI_OP_REPRODUCIBLE, add_vjp);
