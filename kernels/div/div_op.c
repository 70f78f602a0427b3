/* div_op.c - a / b, broadcast, and its gradients. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/elementwise.h"
#include "div/div.h"

static tutti_status div_vjp(tutti_graph *g, const tutti_node *n, const tutti_value *dy,
                            tutti_value *dx)
{
    const tutti_value da = tutti_div(g, dy[0], n->in[1]); /* db = -da y */
    if (n->need & 1)
        dx[0] = op_sum_to(g, da, n->in[0]);
    if (n->need & 2)
        dx[1] = op_sum_to(g, tutti_op1(g, "neg", tutti_mul(g, da, n->out[0])), n->in[1]);
    return TUTTI_OK;
}

OP_TRAITS(div, WIDEST, WHOLE, IDENTITY, SAME, UNCOUNTED, CODE, OTHER,
          .identity = op_unit_second, .onnx_type = "Div");
OP_BINARY(div, 3, TUTTI_OP_REPRODUCIBLE, div_vjp);
