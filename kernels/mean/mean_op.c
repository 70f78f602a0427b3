/* mean_op.c - mean over axes. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/axes.h"
#include "common/cuda/reduce.h"
#include "common/onnx.h"
#include "common/reduce.h"

static tutti_status infer(const tutti_op_call *c, tutti_desc *out, tutti_error *err)
{
    const tutti_status s = op_want_f32("mean", "x", &c->in[0], err);
    return s ? s : axes_shape("mean", c, 0, out, err);
}

static reduction make(const tutti_op_call *c)
{
    int32_t reduced[TUTTI_MAX_RANK];
    (void)axes_flags("mean", c->attr, &c->in[0], reduced, NULL); /* infer has checked */
    return reduction_make(&c->in[0], reduced);
}

/* 1 / (elements read for one result) */
static double factor(const tutti_op_call *c)
{
    const int64_t from = tutti_numel(&c->in[0]), to = tutti_numel(&c->out[0]);
    return from > 0 ? (double)to / (double)from : 0.0;
}

REDUCE_KERNEL(make, factor(c))
CUDA_REDUCE_KERNEL(mean, make, factor(c))

static tutti_status vjp(tutti_graph *g, const tutti_node *n, const tutti_value *dy,
                        tutti_value *dx)
{
    const int64_t from = tutti_numel(g->desc(g, n->in[0]));
    const int64_t to = tutti_numel(g->desc(g, n->out[0]));
    if (n->need & 1)
        dx[0] = tutti_affine(g, axes_spread(g, n, dy[0]),
                             from > 0 ? (double)to / (double)from : 0.0, 0.0);
    return TUTTI_OK;
}

static tutti_value mean_onnx(const tutti_onnx *o)
{
    const axes_attr *a = o->call->attr;
    const tutti_attr attr[2] = {tutti_attr_i("keepdims", a->keepdim),
                                tutti_attr_list("axes", a->axes.v, (uint32_t)a->axes.n)};
    return onnx_op(o, "ReduceMean", o->in, 1, attr, a->axes.n ? 2 : 1);
}

OP_PLAIN(mean, .onnx = mean_onnx);
OP_DEFINE(mean, .flags = TUTTI_OP_BF16 | TUTTI_OP_REPRODUCIBLE, .nin_min = 1, .nin_max = 1,
          OP_ATTR(axes_attr, axes_fields), .infer = infer, .vjp = vjp, .reference = reference,
          .cpu = &cpu, .cuda = &cuda);
