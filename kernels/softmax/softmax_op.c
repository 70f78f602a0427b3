/* softmax_op.c - exp(x) / sum exp(x) along the last axis. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/elementwise.h"

#include <math.h>

typedef struct softmax_attr {
    int64_t axis; /* the last one: -1, or rank - 1 */
} softmax_attr;

static const tutti_attr_field softmax_fields[] = {OP_FIELD_I64(softmax_attr, axis, -1)};

static tutti_status infer(const tutti_op_call *c, tutti_desc *out, tutti_error *err)
{
    const int64_t axis = ((const softmax_attr *)c->attr)->axis;
    *out = c->in[0];
    if (out->rank < 1 || (axis != -1 && axis != out->rank - 1))
        return tutti_fail(err, TUTTI_E_ARG, "softmax: axis %lld of rank %d, want the last one",
                          (long long)axis, out->rank);
    return op_want_f32("softmax", "x", &c->in[0], err);
}

static tutti_status reference(const tutti_op_call *c, const double *const *in,
                              double *const *out)
{
    const int64_t n = c->in[0].dim[c->in[0].rank - 1],
                  rows = n ? tutti_numel(&c->in[0]) / n : 0;
    for (int64_t r = 0; r < rows; r++) {
        const double *x = in[0] + r * n;
        double *y = out[0] + r * n, max = -INFINITY, sum = 0.0;
        for (int64_t k = 0; k < n; k++)
            max = x[k] > max ? x[k] : max;
        for (int64_t k = 0; k < n; k++)
            sum += exp(x[k] - max);
        for (int64_t k = 0; k < n; k++)
            y[k] = exp(x[k] - max) / sum;
    }
    return TUTTI_OK;
}

static tutti_status run(void *state, const tutti_op_call *c, const void *const *in,
                        void *const *out, void *scratch)
{
    (void)state, (void)scratch;
    const int64_t n = c->in[0].dim[c->in[0].rank - 1],
                  rows = n ? tutti_numel(&c->in[0]) / n : 0;
    const int threads = op_threads(c, rows * n * 8);
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (int64_t r = 0; r < rows; r++) {
        const float *x = (const float *)in[0] + r * n;
        float *y = (float *)out[0] + r * n, max = -INFINITY;
        double sum = 0.0;
        for (int64_t k = 0; k < n; k++)
            max = x[k] > max ? x[k] : max;
        for (int64_t k = 0; k < n; k++)
            sum += (double)expf(x[k] - max);
        const float scale = (float)(1.0 / sum);
        for (int64_t k = 0; k < n; k++)
            y[k] = expf(x[k] - max) * scale;
    }
    return TUTTI_OK;
}

/* dx = y (dy - sum(y dy)) */
static tutti_status vjp(tutti_graph *g, const tutti_node *n, const tutti_value *dy,
                        tutti_value *dx)
{
    const int64_t last = -1;
    const tutti_value y = n->out[0];
    const tutti_value s = tutti_reduce(g, "sum", tutti_mul(g, y, dy[0]), &last, 1, 1);
    if (n->need & 1)
        dx[0] = tutti_mul(g, y, tutti_sub(g, dy[0], s));
    return TUTTI_OK;
}

static const tutti_kernel cpu = {sizeof(tutti_kernel), 1, NULL, run, NULL};

extern const tutti_op tutti_op_softmax;
const tutti_op tutti_op_softmax = {.struct_size = sizeof(tutti_op),
                                   .flags = 0,
                                   .name = "softmax",
                                   .nin_min = 1,
                                   .nin_max = 1,
                                   .nout = 1,
                                   .attr_size = sizeof(softmax_attr),
                                   .fields = softmax_fields,
                                   .nfields = sizeof softmax_fields / sizeof *softmax_fields,
                                   .infer = infer,
                                   .vjp = vjp,
                                   .reference = reference,
                                   .cpu = &cpu};
