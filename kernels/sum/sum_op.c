/* sum_op.c - sum over axes. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/axes.h"
#include "common/cuda/reduce.h"
#include "common/onnx.h"
#include "common/reduce.h"

static tutti_status infer(const tutti_op_call *c, tutti_desc *out, tutti_error *err)
{
    const tutti_status s = op_want_f32("sum", "x", &c->in[0], err);
    return s ? s : axes_shape("sum", c, 0, out, err);
}

static reduction make(const tutti_op_call *c)
{
    int32_t reduced[TUTTI_MAX_RANK];
    (void)axes_flags("sum", c->attr, &c->in[0], reduced, NULL); /* infer has checked */
    return reduction_make(&c->in[0], reduced);
}

REDUCE_KERNEL(make, 1.0)
CUDA_REDUCE_KERNEL(sum, make, 1.0)

static tutti_status vjp(tutti_graph *g, const tutti_node *n, const tutti_value *dy,
                        tutti_value *dx)
{
    if (n->need & 1)
        dx[0] = axes_spread(g, n, dy[0]);
    return TUTTI_OK;
}

static tutti_value sum_onnx(const tutti_onnx *o)
{
    const axes_attr *a = o->call->attr;
    const tutti_attr attr = tutti_attr_i("keepdims", a->keepdim);
    const tutti_value in[2] = {o->in[0], a->axes.n ? onnx_list(o, a->axes.v, a->axes.n) : 0};
    return onnx_op(o, "ReduceSum", in, 2, &attr, 1);
}

OP_PLAIN(sum, .onnx = sum_onnx);
OP_DEFINE(sum, .flags = TUTTI_OP_BF16 | TUTTI_OP_REPRODUCIBLE, .nin_min = 1, .nin_max = 1,
          OP_ATTR(axes_attr, axes_fields), .infer = infer, .vjp = vjp, .reference = reference,
          .cpu = &cpu, .cuda = &cuda);
