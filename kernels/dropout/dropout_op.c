/* dropout_op.c - elements set to zero at random, the others scaled up. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/op_util.h"
#include "tutti/rng.h"

/* y = x / (1 - p) where a draw is at least p, else 0 (Srivastava et al. 2014).  The mask is a function
 * of (seed, step, microbatch, stream, element): the gradient is the same operation on dy. */
typedef struct dropout_attr {
    double p;
    int64_t stream; /* tells the dropouts of a model apart */
} dropout_attr;

static const tutti_attr_field dropout_fields[] = {OP_FIELD_F64(dropout_attr, p, 0.5),
                                                  OP_FIELD_I64(dropout_attr, stream, 0)};

static tutti_status infer(const tutti_op_call *c, tutti_desc *out, tutti_error *err)
{
    const dropout_attr *a = c->attr;
    *out = c->in[0];
    if (!(a->p >= 0.0 && a->p < 1.0))
        return tutti_fail(err, TUTTI_E_RANGE, "dropout: p is %g, want 0 to below 1", a->p);
    return op_want_f32("dropout", "x", &c->in[0], err);
}

/* Elements are drawn in blocks of four. */
static tutti_rng4 draw(const tutti_op_call *c, int64_t block)
{
    const dropout_attr *a = c->attr;
    const tutti_step zero = {0};
    const tutti_step *s = c->step ? c->step : &zero;
    return tutti_rng(s->seed, TUTTI_RNG_OP ^ (uint32_t)(a->stream * 2654435761u),
                     s->step << 16 | s->microbatch, (uint64_t)block);
}

static tutti_status reference(const tutti_op_call *c, const double *const *in,
                              double *const *out)
{
    const double p = ((const dropout_attr *)c->attr)->p;
    for (int64_t i = 0, n = tutti_numel(&c->in[0]); i < n; i++) {
        const float u = tutti_uniform_f32(draw(c, i / 4).v[i % 4]);
        out[0][i] = u >= (float)p ? in[0][i] / (1.0 - p) : 0.0;
    }
    return TUTTI_OK;
}

static tutti_status run(void *state, const tutti_op_call *c, const void *const *in,
                        void *const *out, void *scratch)
{
    (void)state, (void)scratch;
    const double p = ((const dropout_attr *)c->attr)->p;
    const float keep = (float)p, scale = (float)(1.0 / (1.0 - p));
    const float *x = in[0];
    float *y = out[0];
    const int64_t n = tutti_numel(&c->in[0]), blocks = (n + 3) / 4;
    const int threads = op_threads(c, 8 * n);
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (int64_t b = 0; b < blocks; b++) {
        const tutti_rng4 r = draw(c, b);
        for (int64_t i = 4 * b; i < 4 * b + 4 && i < n; i++)
            y[i] = tutti_uniform_f32(r.v[i % 4]) >= keep ? x[i] * scale : 0.0f;
    }
    return TUTTI_OK;
}

static tutti_status vjp(tutti_graph *g, const tutti_node *n, const tutti_value *dy,
                        tutti_value *dx)
{
    const dropout_attr *a = n->attr;
    const tutti_attr attr[2] = {tutti_attr_f("p", a->p), tutti_attr_i("stream", a->stream)};
    if (n->need & 1)
        dx[0] = g->emit(g, "dropout", &dy[0], 1, attr, 2, NULL, 0);
    return TUTTI_OK;
}

static const tutti_kernel cpu = {sizeof(tutti_kernel), 1, NULL, run, NULL};

extern const tutti_op tutti_op_dropout;
const tutti_op tutti_op_dropout = {.struct_size = sizeof(tutti_op),
                                   .flags = TUTTI_OP_RNG,
                                   .name = "dropout",
                                   .nin_min = 1,
                                   .nin_max = 1,
                                   .nout = 1,
                                   .attr_size = sizeof(dropout_attr),
                                   .fields = dropout_fields,
                                   .nfields = sizeof dropout_fields / sizeof *dropout_fields,
                                   .infer = infer,
                                   .vjp = vjp,
                                   .reference = reference,
                                   .cpu = &cpu};
