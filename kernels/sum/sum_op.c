/* sum_op.c - sum over axes. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/axes.h"
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
        dx[0] = axes_spread(g, n, dy[0]);
    return TUTTI_OK;
}

static const tutti_kernel cpu = {sizeof(tutti_kernel), 0, prepare, run, NULL};

extern const tutti_op tutti_op_sum;
const tutti_op tutti_op_sum = {.struct_size = sizeof(tutti_op),
                               .flags = 0,
                               .name = "sum",
                               .nin_min = 1,
                               .nin_max = 1,
                               .nout = 1,
                               .attr_size = sizeof(axes_attr),
                               .fields = axes_fields,
                               .nfields = sizeof axes_fields / sizeof *axes_fields,
                               .infer = infer,
                               .vjp = vjp,
                               .reference = reference,
                               .cpu = &cpu};
