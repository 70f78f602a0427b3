/* broadcast_to_op.c - x repeated to a shape. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/broadcast.h"
#include "common/cuda/strided.h"
#include "common/elementwise.h"
#include "common/onnx.h"
#include "common/shape.h"
#include "common/strided.h"

static tutti_status infer(const tutti_op_call *c, tutti_desc *out, tutti_error *err)
{
    char tx[96], ty[96];
    shape_desc(c->attr, c->in[0].dtype, out);
    if (!shape_broadcasts(&c->in[0], out))
        return tutti_fail(
            err, TUTTI_E_SHAPE, "broadcast_to: x is %s, which does not broadcast to %s",
            tutti_desc_text(&c->in[0], tx, sizeof tx), tutti_desc_text(out, ty, sizeof ty));
    return TUTTI_OK;
}

static strided view(const tutti_op_call *c)
{
    strided v = strided_dense(&c->out[0]);
    broadcast_strides(&c->in[0], &c->out[0], v.stride);
    return v;
}

static tutti_status move(const tutti_op_call *c, const void *const *in, void *const *out,
                         uint64_t size)
{
    const strided v = view(c);
    strided_copy(c, &v, in[0], out[0], 0, size);
    return TUTTI_OK;
}

STRIDED_KERNEL(move)
CUDA_STRIDED_KERNEL(broadcast_to, view)

static tutti_status vjp(tutti_graph *g, const tutti_node *n, const tutti_value *dy,
                        tutti_value *dx)
{
    if (n->need & 1)
        dx[0] = op_sum_to(g, dy[0], n->in[0]);
    return TUTTI_OK;
}

static tutti_value broadcast_to_onnx(const tutti_onnx *o)
{
    return onnx_op2(o, "Expand", o->in[0], o->shape(o));
}

OP_TRAITS(broadcast_to, F32, WHOLE, IDENTITY, SAME, UNCOUNTED, NONE, BROADCAST,
          .identity = op_same, .onnx = broadcast_to_onnx);
OP_DEFINE(broadcast_to, .flags = TUTTI_OP_REPRODUCIBLE, .nin_min = 1, .nin_max = 1,
          OP_ATTR(shape_attr, shape_fields), .infer = infer, .vjp = vjp, .reference = reference,
          .cpu = &cpu, .cuda = &cuda);
