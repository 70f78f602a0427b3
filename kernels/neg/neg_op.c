/* neg_op.c - -x, and its gradient. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/elementwise.h"
#include "neg/neg.h"

static tutti_status neg_vjp(tutti_graph *g, const tutti_node *n, const tutti_value *dy,
                            tutti_value *dx)
{
    if (n->need & 1)
        dx[0] = tutti_op1(g, "neg", dy[0]);
    return TUTTI_OK;
}

OP_POINTWISE(neg, WIDEST, .onnx_type = "Neg");
OP_UNARY(neg, 1, neg_vjp);
