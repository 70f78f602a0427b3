/* rope_op.c - rotary position embedding (Su et al. 2021): halves of rows rotated by angles. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "rope/rope.h"

#include "common/cuda/launch.h"
#include "common/cuda/tensor.h"
#include "common/onnx.h"
#include "common/op_util.h"

/* In: x (..., T, D), cos, sin (T, D / 2).  Out: y as x.  For each pair (a, b) = (x[i], x[i + D / 2]):
 *   y[i] = a cos[t, i] - b sin[t, i]
 *   y[i + D / 2] = b cos[t, i] + a sin[t, i]
 * The caller makes cos and sin, so that any scaling of frequencies and any positions serve.
 * inverse: by the opposite angles, which is also the gradient by x. */
typedef struct rope_attr {
    int64_t inverse;
} rope_attr;

static const tutti_attr_field fields[] = {OP_FIELD_I64(rope_attr, inverse, 0)};

static tutti_status infer(const tutti_op_call *c, tutti_desc *out, tutti_error *err)
{
    static const char *const names[] = {"x", "cos", "sin"};
    const tutti_desc *x = &c->in[0];
    char text[96], wanted[96];
    if (x->rank < 2 || x->dim[x->rank - 1] % 2)
        return tutti_fail(err, TUTTI_E_SHAPE, "rope: x is %s, want (..., T, D) with D even",
                          tutti_desc_text(x, text, sizeof text));
    const tutti_desc table = {{x->dim[x->rank - 2], x->dim[x->rank - 1] / 2}, 2, TUTTI_F32};
    for (uint32_t k = 0; k < 3; k++) {
        const tutti_status s = op_want_f32("rope", names[k], &c->in[k], err);
        if (s)
            return s;
        if (k > 0 && !tutti_same_shape(&c->in[k], &table))
            return tutti_fail(err, TUTTI_E_SHAPE, "rope: %s is %s, want %s", names[k],
                              tutti_desc_text(&c->in[k], text, sizeof text),
                              tutti_desc_text(&table, wanted, sizeof wanted));
    }
    *out = *x;
    return TUTTI_OK;
}

static rope_rows rows_of(const tutti_op_call *c)
{
    const tutti_desc *x = &c->in[0];
    rope_rows r = {1, x->dim[x->rank - 2], x->dim[x->rank - 1] / 2,
                   ((const rope_attr *)c->attr)->inverse ? -1.0f : 1.0f, 0};
    for (int32_t k = 0; k < x->rank - 2; k++)
        r.count *= x->dim[k];
    return r;
}

static tutti_status reference(const tutti_op_call *c, const double *const *in,
                              double *const *out)
{
    const rope_rows s = rows_of(c);
    for (int64_t r = 0; r < s.count * s.t; r++)
        for (int64_t i = 0; i < s.half; i++) {
            const int64_t at = r * 2 * s.half + i, angle = r % s.t * s.half + i;
            const double a = in[0][at], b = in[0][at + s.half];
            out[0][at] = a * in[1][angle] - b * in[2][angle] * (double)s.sign;
            out[0][at + s.half] = b * in[1][angle] + a * in[2][angle] * (double)s.sign;
        }
    return TUTTI_OK;
}

static void rotate(const rope_rows *s, const float *x, const float *cosine, const float *sine,
                   float *y)
{
    const int64_t half = s->half;
    OP_LOOP for (int64_t i = 0; i < half; i++)
    {
        const float a = x[i], b = x[i + half], by = sine[i] * s->sign;
        y[i] = a * cosine[i] - b * by;
        y[i + half] = b * cosine[i] + a * by;
    }
}

static tutti_status run(void *state, const tutti_op_call *c, const void *const *in,
                        void *const *out, void *scratch)
{
    (void)state, (void)scratch;
    const rope_rows s = rows_of(c);
    const int64_t rows = s.count * s.t;
    const float *x = in[0], *cosine = in[1], *sine = in[2];
    float *y = out[0];
    const int threads = op_threads(c, rows * s.half * 2);
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (int k = 0; k < threads; k++)
        for (int64_t r = rows * k / threads; r < rows * (k + 1) / threads; r++)
            rotate(&s, x + r * 2 * s.half, cosine + r % s.t * s.half, sine + r % s.t * s.half,
                   y + r * 2 * s.half);
    return TUTTI_OK;
}

static tutti_status cuda_prepare(const tutti_op_call *c, void **ret_state,
                                 uint64_t *ret_scratch, tutti_error *err)
{
    (void)ret_scratch;
    return CUDA_FUNCTION(c, "rope_cuda", ret_state, err, sizeof(rope_rows), sizeof(cuda_tensor),
                         sizeof(cuda_tensor), sizeof(cuda_tensor), sizeof(cuda_tensor));
}

static tutti_status cuda_run(void *state, const tutti_op_call *c, const void *const *in,
                             void *const *out, void *scratch)
{
    rope_rows s = rows_of(c);
    cuda_tensor x = cuda_in(c, in, 0), cosine = cuda_in(c, in, 1), sine = cuda_in(c, in, 2);
    cuda_tensor y = cuda_out(c, out, 0);
    const int64_t pairs = s.count * s.t * s.half;
    (void)scratch;
    return pairs == 0 ? TUTTI_OK
                      : cuda_launch(c->cuda, state, cuda_blocks(c->cuda, pairs), CUDA_BLOCK, 0,
                                    (void *const[]){&s, &x, &cosine, &sine, &y});
}

/* One half of v (..., T, D). */
static tutti_value half_of(tutti_graph *g, tutti_value v, int second)
{
    static const int64_t step[TUTTI_MAX_RANK] = {1, 1, 1, 1, 1, 1};
    const tutti_desc d = *g->desc(g, v);
    const uint32_t rank = (uint32_t)d.rank;
    int64_t begin[TUTTI_MAX_RANK] = {0}, end[TUTTI_MAX_RANK];
    for (uint32_t k = 0; k < rank; k++)
        end[k] = d.dim[k];
    begin[rank - 1] = second ? d.dim[rank - 1] / 2 : 0;
    end[rank - 1] = second ? d.dim[rank - 1] : d.dim[rank - 1] / 2;
    const tutti_attr cut[3] = {tutti_attr_list("begin", begin, rank),
                               tutti_attr_list("end", end, rank),
                               tutti_attr_list("stride", step, rank)};
    return g->emit(g, "slice", &v, 1, cut, 3, NULL, 0);
}

/* a c + b d, summed to the shape (T, D / 2) of the angles. */
static tutti_value products(tutti_graph *g, tutti_value a, tutti_value c, tutti_value b,
                            tutti_value d, double sign)
{
    static const int64_t axes[TUTTI_MAX_RANK] = {0, 1, 2, 3, 4, 5};
    const tutti_value sum =
        tutti_add(g, tutti_mul(g, a, c), tutti_affine(g, tutti_mul(g, b, d), sign, 0.0));
    const int32_t rank = g->desc(g, sum)->rank;
    return rank > 2 ? tutti_reduce(g, "sum", sum, axes, (uint32_t)rank - 2, 0) : sum;
}

static tutti_status vjp(tutti_graph *g, const tutti_node *n, const tutti_value *dy,
                        tutti_value *dx)
{
    const int64_t inverse = ((const rope_attr *)n->attr)->inverse;
    if (n->need & 1) {
        const tutti_value in[3] = {dy[0], n->in[1], n->in[2]};
        const tutti_attr back = tutti_attr_i("inverse", !inverse);
        dx[0] = g->emit(g, "rope", in, 3, &back, 1, NULL, 0);
    }
    if (!(n->need & 6))
        return g->status(g);
    const tutti_value a = half_of(g, n->in[0], 0), b = half_of(g, n->in[0], 1);
    const tutti_value da = half_of(g, dy[0], 0), db = half_of(g, dy[0], 1);
    if (n->need & 2)
        dx[1] = products(g, da, a, db, b, 1.0);
    if (n->need & 4) {
        dx[2] = products(g, db, a, da, b, -1.0);
        dx[2] = inverse ? tutti_affine(g, dx[2], -1.0, 0.0) : dx[2];
    }
    return g->status(g);
}

static const tutti_kernel cpu = {.struct_size = sizeof(tutti_kernel), .inplace = 1, .run = run};
static const tutti_kernel cuda = {.struct_size = sizeof(tutti_kernel),
                                  .inplace = 1,
                                  .prepare = cuda_prepare,
                                  .run = cuda_run};

/* Elements [first, end) of each row of x. */
static tutti_value onnx_half(const tutti_onnx *o, int64_t first, int64_t end)
{
    const int64_t last = -1;
    const tutti_value in[4] = {o->in[0], onnx_list(o, &first, 1), onnx_list(o, &end, 1),
                               onnx_list(o, &last, 1)};
    return onnx_op(o, "Slice", in, 4, NULL, 0);
}

static tutti_value rope_onnx(const tutti_onnx *o)
{
    const int64_t half = o->call->in[0].dim[o->call->in[0].rank - 1] / 2;
    const tutti_value a = onnx_half(o, 0, half), b = onnx_half(o, half, 2 * half);
    const tutti_value cosine = o->in[1];
    const tutti_value sine =
        ((const rope_attr *)o->call->attr)->inverse ? onnx_op1(o, "Neg", o->in[2]) : o->in[2];
    const tutti_attr last = tutti_attr_i("axis", -1);
    const tutti_value y[2] = {
        onnx_op2(o, "Sub", onnx_op2(o, "Mul", a, cosine), onnx_op2(o, "Mul", b, sine)),
        onnx_op2(o, "Add", onnx_op2(o, "Mul", b, cosine), onnx_op2(o, "Mul", a, sine))};
    return onnx_op(o, "Concat", y, 2, &last, 1);
}

OP_TRAITS(rope, KEEP, WHOLE, CONSTANTS, SAME, UNCOUNTED, NONE, OTHER, .onnx = rope_onnx);
OP_DEFINE(rope, .flags = TUTTI_OP_REPRODUCIBLE, .nin_min = 3, .nin_max = 3,
          OP_ATTR(rope_attr, fields), .infer = infer, .vjp = vjp, .reference = reference,
          .cpu = &cpu, .cuda = &cuda);
