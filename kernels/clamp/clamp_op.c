/* clamp_op.c - x kept within [min, max], and its gradient. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "clamp/clamp.h"
#include "common/elementwise.h"
#include "common/onnx.h"

#include <math.h>

static const tutti_attr_field fields[] = {OP_FIELD_F64(clamp_attr, min, -INFINITY),
                                          OP_FIELD_F64(clamp_attr, max, INFINITY)};

static tutti_status clamp_vjp(tutti_graph *g, const tutti_node *n, const tutti_value *dy,
                              tutti_value *dx)
{
    /* 1 where x was left alone: clamp(x) == x */
    if (n->need & 1)
        dx[0] = tutti_mul(g, dy[0], op_cmp(g, n->in[0], n->out[0], CMP_EQ));
    return TUTTI_OK;
}

static tutti_value clamp_onnx(const tutti_onnx *o)
{
    const clamp_attr *a = o->call->attr;
    const tutti_value in[3] = {o->in[0], onnx_number(o, a->min), onnx_number(o, a->max)};
    return onnx_op(o, "Clip", in, 3, NULL, 0);
}

OP_POINTWISE(clamp, WIDEST, .onnx = clamp_onnx);
OP_UNARY_ATTR(clamp, clamp_attr, fields, 2, clamp_vjp);
