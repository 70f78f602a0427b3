/* log_softmax_op.c - x - log sum exp(x) along the last axis. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/elementwise.h"

#include <math.h>

typedef struct log_softmax_attr {
    int64_t axis; /* the last one: -1, or rank - 1 */
} log_softmax_attr;

static const tutti_attr_field log_softmax_fields[] = {OP_FIELD_I64(log_softmax_attr, axis, -1)};

static tutti_status infer(const tutti_op_call *c, tutti_desc *out, tutti_error *err)
{
    const int64_t axis = ((const log_softmax_attr *)c->attr)->axis;
    *out = c->in[0];
    if (out->rank < 1 || (axis != -1 && axis != out->rank - 1))
        return tutti_fail(err, TUTTI_E_ARG,
                          "log_softmax: axis %lld of rank %d, want the last one",
                          (long long)axis, out->rank);
    return op_want_f32("log_softmax", "x", &c->in[0], err);
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
            y[k] = x[k] - max - log(sum);
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
        const float shift = max + (float)log(sum);
        for (int64_t k = 0; k < n; k++)
            y[k] = x[k] - shift;
    }
    return TUTTI_OK;
}

/* dx = dy - exp(y) sum(dy) */
static tutti_status vjp(tutti_graph *g, const tutti_node *n, const tutti_value *dy,
                        tutti_value *dx)
{
    const int64_t last = -1;
    const tutti_value s = tutti_reduce(g, "sum", dy[0], &last, 1, 1);
    if (n->need & 1)
        dx[0] = tutti_sub(g, dy[0], tutti_mul(g, tutti_op1(g, "exp", n->out[0]), s));
    return TUTTI_OK;
}

static const tutti_kernel cpu = {sizeof(tutti_kernel), 1, NULL, run, NULL};

extern const tutti_op tutti_op_log_softmax;
const tutti_op tutti_op_log_softmax = {.struct_size = sizeof(tutti_op),
                                       .flags = 0,
                                       .name = "log_softmax",
                                       .nin_min = 1,
                                       .nin_max = 1,
                                       .nout = 1,
                                       .attr_size = sizeof(log_softmax_attr),
                                       .fields = log_softmax_fields,
                                       .nfields = sizeof log_softmax_fields /
                                                  sizeof *log_softmax_fields,
                                       .infer = infer,
                                       .vjp = vjp,
                                       .reference = reference,
                                       .cpu = &cpu};
