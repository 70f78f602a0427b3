/* max_reduce_op.c - the greatest element over axes. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/axes.h"
#include "common/cuda/reduce.h"
#include "common/elementwise.h"
#include "common/onnx.h"
#include "common/reduce.h"

#include <math.h>

static tutti_status infer(const tutti_op_call *c, tutti_desc *out, tutti_error *err)
{
    char text[96];
    tutti_status s;
    if ((s = op_want_f32("max_reduce", "x", &c->in[0], err)) ||
        (s = axes_shape("max_reduce", c, 0, out, err)))
        return s;
    if (tutti_numel(&c->in[0]) == 0 && tutti_numel(out) > 0)
        return tutti_fail(err, TUTTI_E_SHAPE,
                          "max_reduce: x is %s, which has nothing to choose from",
                          tutti_desc_text(&c->in[0], text, sizeof text));
    return TUTTI_OK;
}

static reduction make(const tutti_op_call *c)
{
    int32_t reduced[TUTTI_MAX_RANK];
    (void)axes_flags("max_reduce", c->attr, &c->in[0], reduced, NULL); /* infer has checked */
    return reduction_make(&c->in[0], reduced);
}

static tutti_status reference(const tutti_op_call *c, const double *const *in,
                              double *const *out)
{
    const reduction r = make(c);
    for (int64_t i = 0, n = tutti_numel(&c->out[0]); i < n; i++)
        out[0][i] = -INFINITY;
    for (int64_t i = 0, n = tutti_numel(&c->in[0]); i < n; i++) {
        const int64_t at = reduction_at(&r, i);
        out[0][at] = in[0][i] > out[0][at] ? in[0][i] : out[0][at];
    }
    return TUTTI_OK;
}

/* y, or x where it is more or a NaN. */
static inline float greater(float x, float y)
{
    return x > y || x != x ? x : y;
}

/* y (n) = max(y, x) */
static void columns(const float *x, float *y, int64_t n)
{
    OP_LOOP for (int64_t i = 0; i < n; i++)
    {
        y[i] = greater(x[i], y[i]);
    }
}

/* In sixteen lanes. */
static float row(const float *x, int64_t n)
{
    float lane[16], best = -INFINITY;
    int64_t i = 0;
    for (int k = 0; k < 16; k++)
        lane[k] = -INFINITY;
    for (; i + 16 <= n; i += 16)
        for (int k = 0; k < 16; k++)
            lane[k] = greater(x[i + k], lane[k]);
    for (; i < n; i++)
        best = greater(x[i], best);
    for (int k = 0; k < 16; k++)
        best = greater(lane[k], best);
    return best;
}

static tutti_status run(void *state, const tutti_op_call *c, const void *const *in,
                        void *const *out, void *scratch)
{
    (void)state, (void)scratch;
    const reduction r = make(c);
    const int64_t nx = tutti_numel(&c->in[0]), ny = tutti_numel(&c->out[0]);
    const int threads = op_threads(c, nx);
    const float *x = in[0];
    float *y = out[0];
    int64_t outer, mid, inner;
    if (!reduction_simple(&r, &outer, &mid, &inner)) {
        for (int64_t i = 0; i < ny; i++)
            y[i] = -INFINITY;
        const int64_t n = r.dim[r.rank - 1];
        for (int64_t i = 0; i < nx; i += n) {
            const float *from = x + i;
            float one;
            if (r.reduced[r.rank - 1]) {
                one = row(from, n);
                from = &one;
            }
            columns(from, y + reduction_at(&r, i), from == &one ? 1 : n);
        }
        return TUTTI_OK;
    }
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (int64_t o = 0; o < outer; o++) {
        if (inner == 1) {
            y[o] = row(x + o * mid, mid);
            continue;
        }
        for (int64_t i = 0; i < inner; i++)
            y[o * inner + i] = -INFINITY;
        for (int64_t k = 0; k < mid; k++)
            columns(x + (o * mid + k) * inner, y + o * inner, inner);
    }
    return TUTTI_OK;
}

/* Equal greatest elements share the gradient: dx = (x == y) dy / count(x == y). */
static tutti_status vjp(tutti_graph *g, const tutti_node *n, const tutti_value *dy,
                        tutti_value *dx)
{
    const axes_attr *a = n->attr;
    if (!(n->need & 1))
        return TUTTI_OK;
    const tutti_value same = op_cmp(g, n->in[0], axes_spread(g, n, n->out[0]), CMP_EQ);
    const tutti_value count =
        tutti_reduce(g, "sum", same, a->axes.v, (uint32_t)a->axes.n, (int32_t)a->keepdim);
    dx[0] = tutti_mul(g, same, axes_spread(g, n, tutti_div(g, dy[0], count)));
    return TUTTI_OK;
}

static const tutti_kernel cpu = {sizeof(tutti_kernel), 0, NULL, run, NULL};
CUDA_REDUCE_KERNEL(max_reduce, make, 1.0)

static tutti_value max_reduce_onnx(const tutti_onnx *o)
{
    const axes_attr *a = o->call->attr;
    const tutti_attr attr[2] = {tutti_attr_i("keepdims", a->keepdim),
                                tutti_attr_list("axes", a->axes.v, (uint32_t)a->axes.n)};
    return onnx_op(o, "ReduceMax", o->in, 1, attr, a->axes.n ? 2 : 1);
}

OP_TRAITS(max_reduce, KEEP, WHOLE, CONSTANTS, NEVER, UNCOUNTED, NONE, OTHER,
          .onnx = max_reduce_onnx);
OP_DEFINE(max_reduce, .flags = TUTTI_OP_REPRODUCIBLE, .nin_min = 1, .nin_max = 1,
          OP_ATTR(axes_attr, axes_fields), .infer = infer, .vjp = vjp, .reference = reference,
          .cpu = &cpu, .cuda = &cuda);
