/* affine_op.c - scale x + shift, the numbers in the node. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "affine/affine.h"
#include "common/elementwise.h"
#include "common/onnx.h"

static const tutti_attr_field fields[] = {OP_FIELD_F64(affine_attr, scale, 1.0),
                                          OP_FIELD_F64(affine_attr, shift, 0.0)};

static tutti_status affine_vjp(tutti_graph *g, const tutti_node *n, const tutti_value *dy,
                               tutti_value *dx)
{
    if (n->need & 1)
        dx[0] = tutti_affine(g, dy[0], ((const affine_attr *)n->attr)->scale, 0.0);
    return TUTTI_OK;
}

static uint32_t affine_identity(const tutti_op_call *c, const void *const *constant)
{
    const affine_attr *a = c->attr;
    (void)constant;
    return a->scale == 1.0 && a->shift == 0.0;
}

static tutti_value affine_onnx(const tutti_onnx *o)
{
    const affine_attr *a = o->call->attr;
    tutti_value y = o->in[0];
    if (a->scale != 1.0)
        y = onnx_op2(o, "Mul", y, onnx_number(o, a->scale));
    return a->shift == 0.0 ? y : onnx_op2(o, "Add", y, onnx_number(o, a->shift));
}

OP_TRAITS(affine, WIDEST, WHOLE, IDENTITY, SAME, UNCOUNTED, CODE, OTHER,
          .identity = affine_identity, .onnx = affine_onnx);
OP_UNARY_ATTR(affine, affine_attr, fields, 1, affine_vjp);
