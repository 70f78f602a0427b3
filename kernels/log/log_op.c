/* log_op.c - the natural logarithm, and its gradient. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/elementwise.h"
#include "log/log.h"

static tutti_status log_vjp(tutti_graph *g, const tutti_node *n, const tutti_value *dy,
                            tutti_value *dx)
{
    if (n->need & 1)
        dx[0] = tutti_div(g, dy[0], n->in[0]);
    return TUTTI_OK;
}

OP_POINTWISE(log, F32, .onnx_type = "Log");
OP_UNARY(log, 8, log_vjp);
