/* mean_op.c - mean over axes. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/axes.h"
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

static tutti_status reference(const tutti_op_call *c, const double *const *in,
                              double *const *out)
{
    const reduction r = make(c);
    reduction_reference(&r, in[0], out[0], tutti_numel(&c->in[0]), tutti_numel(&c->out[0]));
    for (int64_t i = 0, n = tutti_numel(&c->out[0]); i < n; i++)
        out[0][i] *= factor(c);
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
    reduce_f32(c, &r, in[0], out[0], factor(c), scratch);
    return TUTTI_OK;
}

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

static const tutti_kernel cpu = {sizeof(tutti_kernel), 0, prepare, run, NULL};

extern const tutti_op tutti_op_mean;
const tutti_op tutti_op_mean = {.struct_size = sizeof(tutti_op),
                                .flags = 0,
                                .name = "mean",
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
