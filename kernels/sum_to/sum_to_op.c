/* sum_to_op.c - sum of what broadcasting had repeated: x back to a shape. */
/* SPDX-License-Identifier: Apache-2.0 */
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

static tutti_status reference(const tutti_op_call *c, const double *const *in,
                              double *const *out)
{
    const reduction r = make(c);
    reduction_reference(&r, in[0], out[0], tutti_numel(&c->in[0]), tutti_numel(&c->out[0]));
    return TUTTI_OK;
}

static tutti_status prepare(const tutti_op_call *c, void **ret_state, uint64_t *ret_scratch,
                            tutti_error *err)
{
    (void)ret_state, (void)err;
    const reduction r = make(c);
    *ret_scratch = reduce_scratch(&r, c->threads, tutti_numel(&c->out[0]));
    return TUTTI_OK;
}

static tutti_status run(void *state, const tutti_op_call *c, const void *const *in,
                        void *const *out, void *scratch)
{
    (void)state;
    const reduction r = make(c);
    reduce_f32(c, &r, in[0], out[0], 1.0, scratch);
    return TUTTI_OK;
}

static tutti_status vjp(tutti_graph *g, const tutti_node *n, const tutti_value *dy,
                        tutti_value *dx)
{
    if (n->need & 1)
        dx[0] = op_broadcast_to(g, dy[0], n->in[0]);
    return TUTTI_OK;
}

static const tutti_kernel cpu = {sizeof(tutti_kernel), 0, prepare, run, NULL};

extern const tutti_op tutti_op_sum_to;
const tutti_op tutti_op_sum_to = {.struct_size = sizeof(tutti_op),
                                  .flags = 0,
                                  .name = "sum_to",
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
