/* softmax_op.c - exp(x) / sum exp(x) along an axis. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/cuda/softmax.h"
#include "common/onnx.h"

static void row(const float *x, float *y, int64_t n)
{
    softmax_row(x, y, n, 1.0);
}

static tutti_status reference(const tutti_op_call *c, const double *const *in,
                              double *const *out)
{
    const axis_view v = axis_of(&c->in[0], ((const softmax_attr *)c->attr)->axis);
    for (int64_t r = 0; r < v.outer * v.inner; r++) {
        const int64_t at = r / v.inner * v.n * v.inner + r % v.inner;
        const double lse = softmax_log_sum_f64(in[0] + at, v.inner, v.n);
        for (int64_t k = at; k < at + v.n * v.inner; k += v.inner)
            out[0][k] = exp(in[0][k] - lse);
    }
    return TUTTI_OK;
}

/* dx = y (dy - sum(y dy)) */
static tutti_status vjp(tutti_graph *g, const tutti_node *n, const tutti_value *dy,
                        tutti_value *dx)
{
    const int64_t axis = ((const softmax_attr *)n->attr)->axis;
    const tutti_value y = n->out[0];
    const tutti_value s = tutti_reduce(g, "sum", tutti_mul(g, y, dy[0]), &axis, 1, 1);
    if (n->need & 1)
        dx[0] = tutti_mul(g, y, tutti_sub(g, dy[0], s));
    return TUTTI_OK;
}

static tutti_value softmax_onnx(const tutti_onnx *o)
{
    return onnx_along(o, "Softmax", ((const softmax_attr *)o->call->attr)->axis);
}

OP_PLAIN(softmax, .onnx = softmax_onnx);
SOFTMAX_OP(softmax, row);
