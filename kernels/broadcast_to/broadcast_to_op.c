/* broadcast_to_op.c - x repeated to a shape. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/broadcast.h"
#include "common/elementwise.h"
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

static tutti_status reference(const tutti_op_call *c, const double *const *in,
                              double *const *out)
{
    const strided v = view(c);
    strided_copy(c, &v, in[0], out[0], 0, sizeof(double));
    return TUTTI_OK;
}

static tutti_status run(void *state, const tutti_op_call *c, const void *const *in,
                        void *const *out, void *scratch)
{
    (void)state, (void)scratch;
    const strided v = view(c);
    strided_copy(c, &v, in[0], out[0], 0, tutti_dtype_size(c->in[0].dtype));
    return TUTTI_OK;
}

static tutti_status vjp(tutti_graph *g, const tutti_node *n, const tutti_value *dy,
                        tutti_value *dx)
{
    if (n->need & 1)
        dx[0] = op_sum_to(g, dy[0], n->in[0]);
    return TUTTI_OK;
}

static const tutti_kernel cpu = {sizeof(tutti_kernel), 0, NULL, run, NULL};

extern const tutti_op tutti_op_broadcast_to;
const tutti_op tutti_op_broadcast_to = {.struct_size = sizeof(tutti_op),
                                        .flags = 0,
                                        .name = "broadcast_to",
                                        .nin_min = 1,
                                        .nin_max = 1,
                                        .nout = 1,
                                        .attr_size = sizeof(shape_attr),
                                        .fields = shape_fields,
                                        .nfields = sizeof shape_fields / sizeof *shape_fields,
                                        .infer = infer,
                                        .vjp = vjp,
                                        .reference = reference,
                                        .cpu = &cpu};
