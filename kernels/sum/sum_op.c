/* sum_op.c - sum over axes. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/axes.h"
#include "common/cuda/reduce.h"
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

OP_PLAIN(sum);
OP_DEFINE(sum, .nin_min = 1, .nin_max = 1, OP_ATTR(axes_attr, axes_fields), .infer = infer,
          .vjp = vjp, .reference = reference, .cpu = &cpu, .cuda = &cuda);
