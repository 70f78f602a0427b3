/* sum_to_op.c - the sum over dimensions that broadcasting had repeated: x back to a shape. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/cuda/reduce.h"
#include "common/elementwise.h"
#include "common/reduce.h"
#include "common/shape.h"

static tutti_status infer(const tutti_op_call *c, tutti_desc *out, tutti_error *err)
{
    char tx[96], ty[96];
    const tutti_status s = op_want_f32("sum_to", "x", &c->in[0], err);
    if (s)
        return s;
    shape_desc(c->attr, TUTTI_F32, out);
    if (!shape_broadcasts(out, &c->in[0]))
        return tutti_fail(err, TUTTI_E_SHAPE, "sum_to: %s does not broadcast to x, which is %s",
                          tutti_desc_text(out, ty, sizeof ty),
                          tutti_desc_text(&c->in[0], tx, sizeof tx));
    return TUTTI_OK;
}

static reduction make(const tutti_op_call *c)
{
    const shape_attr *a = c->attr;
    int32_t reduced[TUTTI_MAX_RANK] = {0};
    for (int32_t k = 0; k < c->in[0].rank; k++) {
        const int64_t j = k - (c->in[0].rank - a->shape.n);
        reduced[k] = j < 0 || (a->shape.v[j] == 1 && c->in[0].dim[k] != 1);
    }
    return reduction_make(&c->in[0], reduced);
}

REDUCE_KERNEL(make, 1.0)
CUDA_REDUCE_KERNEL(sum_to, make, 1.0)

static tutti_status vjp(tutti_graph *g, const tutti_node *n, const tutti_value *dy,
                        tutti_value *dx)
{
    if (n->need & 1)
        dx[0] = op_broadcast_to(g, dy[0], n->in[0]);
    return TUTTI_OK;
}

OP_TRAITS(sum_to, F32, WHOLE, IDENTITY, NEVER, UNCOUNTED, NONE, SUM, .identity = op_same);
OP_DEFINE(sum_to, .flags = TUTTI_OP_BF16 | TUTTI_OP_REPRODUCIBLE, .nin_min = 1, .nin_max = 1,
          OP_ATTR(shape_attr, shape_fields), .infer = infer, .vjp = vjp, .reference = reference,
          .cpu = &cpu, .cuda = &cuda);
