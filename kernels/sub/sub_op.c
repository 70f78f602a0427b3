/* sub_op.c - a - b, broadcast, and its gradients. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/elementwise.h"
#include "sub/sub.h"

static tutti_status sub_vjp(tutti_graph *g, const tutti_node *n, const tutti_value *dy,
                            tutti_value *dx)
{
    if (n->need & 1)
        dx[0] = op_sum_to(g, dy[0], n->in[0]);
    if (n->need & 2)
        dx[1] = tutti_op1(g, "neg", op_sum_to(g, dy[0], n->in[1]));
    return TUTTI_OK;
}

OP_TRAITS(sub, WIDEST, WHOLE, IDENTITY, SAME, UNCOUNTED, CODE, OTHER,
          .identity = op_zero_second, .onnx_type = "Sub");
OP_BINARY(sub, 1, TUTTI_OP_REPRODUCIBLE, sub_vjp);
