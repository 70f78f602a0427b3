/* flip_op.c - elements in reverse order along some axes. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/axes.h"
#include "common/cuda/strided.h"
#include "common/onnx.h"
#include "common/strided.h"

/* axes: which ones; none: all. */
typedef axes_attr flip_attr;

static tutti_status infer(const tutti_op_call *c, tutti_desc *out, tutti_error *err)
{
    int32_t reversed[TUTTI_MAX_RANK];
    *out = c->in[0];
    return axes_flags("flip", c->attr, &c->in[0], reversed, err);
}

static strided view(const tutti_op_call *c)
{
    int32_t reversed[TUTTI_MAX_RANK];
    strided v = strided_dense(&c->in[0]);
    (void)axes_flags("flip", c->attr, &c->in[0], reversed, NULL); /* infer has checked */
    for (int32_t k = 0; k < v.rank; k++)
        if (reversed[k]) {
            v.offset += (v.dim[k] - 1) * v.stride[k];
            v.stride[k] = -v.stride[k];
        }
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
CUDA_STRIDED_KERNEL(flip, view)

static tutti_status vjp(tutti_graph *g, const tutti_node *n, const tutti_value *dy,
                        tutti_value *dx)
{
    const flip_attr *a = n->attr;
    const tutti_attr axes = tutti_attr_list("axes", a->axes.v, (uint32_t)a->axes.n);
    if (n->need & 1)
        dx[0] = g->emit(g, "flip", &dy[0], 1, &axes, 1, NULL, 0);
    return TUTTI_OK;
}

static const tutti_attr_field fields[] = {OP_FIELD_LIST(flip_attr, axes)};

static tutti_value flip_onnx(const tutti_onnx *o)
{
    int32_t reversed[TUTTI_MAX_RANK];
    int64_t axes[TUTTI_MAX_RANK], back[TUTTI_MAX_RANK], past[TUTTI_MAX_RANK], count = 0;
    (void)axes_flags("flip", o->call->attr, &o->call->in[0], reversed, NULL);
    for (int32_t k = 0; k < o->call->in[0].rank; k++)
        if (reversed[k]) {
            back[count] = -1;
            past[count] = INT64_MIN;
            axes[count++] = k;
        }
    const tutti_value in[5] = {o->in[0], onnx_list(o, back, count), onnx_list(o, past, count),
                               onnx_list(o, axes, count), onnx_list(o, back, count)};
    return onnx_op(o, "Slice", in, 5, NULL, 0);
}

OP_PLAIN(flip, .onnx = flip_onnx);
OP_DEFINE(flip, .flags = TUTTI_OP_REPRODUCIBLE, .nin_min = 1, .nin_max = 1,
          OP_ATTR(flip_attr, fields), .infer = infer, .vjp = vjp, .reference = reference,
          .cpu = &cpu, .cuda = &cuda);
