/* reshape_op.c - the same elements under another shape. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/onnx.h"
#include "common/shape.h"

/* One entry of shape may be -1: what the others leave. */
static tutti_status infer(const tutti_op_call *c, tutti_desc *out, tutti_error *err)
{
    char tx[96], ty[96];
    const int64_t n = tutti_numel(&c->in[0]);
    int64_t known = 1;
    int32_t open = -1;
    shape_desc(c->attr, c->in[0].dtype, out);
    for (int32_t k = 0; k < out->rank; k++) {
        if (out->dim[k] == -1 && open < 0)
            open = k;
        else
            known *= out->dim[k];
    }
    if (open >= 0)
        out->dim[open] = known > 0 && n % known == 0 ? n / known : -1;
    if (known < 0 || (open >= 0 && out->dim[open] < 0) || tutti_numel(out) != n)
        return tutti_fail(err, TUTTI_E_SHAPE, "reshape: x is %s, which does not fit %s",
                          tutti_desc_text(&c->in[0], tx, sizeof tx),
                          tutti_desc_text(out, ty, sizeof ty));
    return TUTTI_OK;
}

static tutti_status reference(const tutti_op_call *c, const double *const *in,
                              double *const *out)
{
    const int64_t n = tutti_numel(&c->in[0]);
    if (n > 0)
        memcpy(out[0], in[0], (size_t)n * sizeof(double));
    return TUTTI_OK;
}

static tutti_status vjp(tutti_graph *g, const tutti_node *n, const tutti_value *dy,
                        tutti_value *dx)
{
    const tutti_desc x = *g->desc(g, n->in[0]);
    if (n->need & 1)
        dx[0] = tutti_reshape(g, dy[0], x.dim, (uint32_t)x.rank);
    return TUTTI_OK;
}

static tutti_value reshape_onnx(const tutti_onnx *o)
{
    return onnx_op2(o, "Reshape", o->in[0], o->shape(o));
}

OP_TRAITS(reshape, F32, WHOLE, IDENTITY, NEVER, UNCOUNTED, NONE, OTHER, .identity = op_same,
          .onnx = reshape_onnx);
OP_DEFINE(reshape, .flags = TUTTI_OP_VIEW, .nin_min = 1, .nin_max = 1,
          OP_ATTR(shape_attr, shape_fields), .infer = infer, .vjp = vjp,
          .reference = reference);
