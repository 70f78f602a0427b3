/* log_softmax_op.c - x - log sum exp(x) along an axis. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/cuda/softmax.h"
#include "common/onnx.h"

static void shift(const float *x, float max, float rest, float *y, int64_t n)
{
    OP_LOOP for (int64_t k = 0; k < n; k++)
    {
        y[k] = (x[k] - max) - rest;
    }
}

static void row(const float *x, float *y, int64_t n)
{
    float max;
    const double sum = softmax_sum(x, n, &max);
    shift(x, max, (float)fast_log_f64(sum), y, n);
}

static tutti_status reference(const tutti_op_call *c, const double *const *in,
                              double *const *out)
{
    const axis_view v = axis_of(&c->in[0], ((const softmax_attr *)c->attr)->axis);
    for (int64_t r = 0; r < v.outer * v.inner; r++) {
        const int64_t at = r / v.inner * v.n * v.inner + r % v.inner;
        const double lse = softmax_log_sum_f64(in[0] + at, v.inner, v.n);
        for (int64_t k = at; k < at + v.n * v.inner; k += v.inner)
            out[0][k] = in[0][k] - lse;
    }
    return TUTTI_OK;
}

/* dx = dy - exp(y) sum(dy) */
static tutti_status vjp(tutti_graph *g, const tutti_node *n, const tutti_value *dy,
                        tutti_value *dx)
{
    const int64_t axis = ((const softmax_attr *)n->attr)->axis;
    const tutti_value s = tutti_reduce(g, "sum", dy[0], &axis, 1, 1);
    if (n->need & 1)
        dx[0] = tutti_sub(g, dy[0], tutti_mul(g, tutti_op1(g, "exp", n->out[0]), s));
    return TUTTI_OK;
}

static tutti_value log_softmax_onnx(const tutti_onnx *o)
{
    return onnx_along(o, "LogSoftmax", ((const softmax_attr *)o->call->attr)->axis);
}

OP_PLAIN(log_softmax, .onnx = log_softmax_onnx);
SOFTMAX_OP(log_softmax, row);
