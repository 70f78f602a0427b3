/* group_norm_op.c - y = (x - mean) rstd gamma + beta, statistics over a group's channels and all pixels. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/onnx.h"
#include "group_norm/group_norm.h"

#include <math.h>

/* In: x (B, ..., C), gamma, beta (C).  Out: y (B, ..., C).  The variance is the biased one. */

const tutti_attr_field group_norm_fields[2] = {OP_FIELD_F64(group_norm_attr, eps, 1e-5),
                                               OP_FIELD_I64(group_norm_attr, groups, 1)};

tutti_status group_norm_want_shape(const char *op, const char *name, const tutti_desc *d,
                                   const tutti_desc *want, tutti_error *err)
{
    char text[96], wanted[96];
    tutti_desc f32 = *want;
    f32.dtype = TUTTI_F32;
    if (tutti_same_shape(d, want) && d->dtype == TUTTI_F32)
        return TUTTI_OK;
    return tutti_fail(err, d->dtype == TUTTI_F32 ? TUTTI_E_SHAPE : TUTTI_E_ARG,
                      "%s: %s is %s, want %s", op, name, tutti_desc_text(d, text, sizeof text),
                      tutti_desc_text(&f32, wanted, sizeof wanted));
}

tutti_status group_norm_want(const char *op, const tutti_op_call *c, tutti_error *err)
{
    char text[96];
    const tutti_desc *x = &c->in[0];
    const int64_t groups = ((const group_norm_attr *)c->attr)->groups;
    if (x->rank < 2 || x->dim[x->rank - 1] == 0)
        return tutti_fail(err, TUTTI_E_SHAPE, "%s: x is %s, want rank 2 or more and channels",
                          op, tutti_desc_text(x, text, sizeof text));
    if (groups < 1 || x->dim[x->rank - 1] % groups)
        return tutti_fail(err, TUTTI_E_ARG,
                          "%s: groups is %lld, want a divisor of %lld channels", op,
                          (long long)groups, (long long)x->dim[x->rank - 1]);
    return op_want_f32(op, "x", x, err);
}

static tutti_status infer(const tutti_op_call *c, tutti_desc *out, tutti_error *err)
{
    tutti_status s = group_norm_want("group_norm", c, err);
    if (s)
        return s;
    const tutti_desc row = {{c->in[0].dim[c->in[0].rank - 1]}, 1, TUTTI_F32};
    if ((s = group_norm_want_shape("group_norm", "gamma", &c->in[1], &row, err)) ||
        (s = group_norm_want_shape("group_norm", "beta", &c->in[2], &row, err)))
        return s;
    out[0] = c->in[0];
    return TUTTI_OK;
}

static tutti_status reference(const tutti_op_call *c, const double *const *in,
                              double *const *out)
{
    const group_norm_shape s = group_norm_shape_of(c);
    const double each = 1.0 / (double)(s.pixels * s.width);
    for (int64_t k = 0; k < s.samples * s.groups; k++) {
        const int64_t at = k / s.groups * s.pixels * s.channels + k % s.groups * s.width;
        double mean = 0.0, var = 0.0;
        for (int64_t p = 0; p < s.pixels * s.width; p++)
            mean += in[0][at + p / s.width * s.channels + p % s.width] * each;
        for (int64_t p = 0; p < s.pixels * s.width; p++)
            var += pow(in[0][at + p / s.width * s.channels + p % s.width] - mean, 2.0) * each;
        for (int64_t p = 0; p < s.pixels * s.width; p++) {
            const int64_t x = at + p / s.width * s.channels + p % s.width;
            const int64_t channel = k % s.groups * s.width + p % s.width;
            out[0][x] = (in[0][x] - mean) / sqrt(var + s.eps) * in[1][channel] + in[2][channel];
        }
    }
    return TUTTI_OK;
}

void group_norm_statistics(const group_norm_shape *s, const float *x, int64_t g,
                           double *ret_mean, double *ret_rstd)
{
    const double n = (double)(s->pixels * s->width);
    double sum = 0.0, square = 0.0;
    for (int64_t p = 0; p < s->pixels; p++)
        for (int64_t k = 0; k < s->width; k++)
            sum += (double)x[p * s->channels + g * s->width + k];
    const double mean = sum / n;
    for (int64_t p = 0; p < s->pixels; p++)
        for (int64_t k = 0; k < s->width; k++) {
            const double d = (double)x[p * s->channels + g * s->width + k] - mean;
            square += d * d;
        }
    *ret_mean = mean;
    *ret_rstd = 1.0 / sqrt(square / n + s->eps);
}

static void normalise(const group_norm_shape *s, const float *x, const float *gamma,
                      const float *beta, float *y, int64_t g)
{
    double mean, rstd;
    group_norm_statistics(s, x, g, &mean, &rstd);
    const float m = (float)mean, r = (float)rstd;
    for (int64_t p = 0; p < s->pixels; p++)
        for (int64_t c = g * s->width; c < (g + 1) * s->width; c++)
            y[p * s->channels + c] = (x[p * s->channels + c] - m) * r * gamma[c] + beta[c];
}

static tutti_status run(void *state, const tutti_op_call *c, const void *const *in,
                        void *const *out, void *scratch)
{
    (void)state, (void)scratch;
    const group_norm_shape s = group_norm_shape_of(c);
    const int64_t sample = s.pixels * s.channels;
    const int threads = op_threads(c, 2 * s.samples * sample);
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (int64_t k = 0; k < s.samples * s.groups; k++) {
        const int64_t at = k / s.groups * sample;
        normalise(&s, (const float *)in[0] + at, in[1], in[2], (float *)out[0] + at,
                  k % s.groups);
    }
    return TUTTI_OK;
}

static tutti_status vjp(tutti_graph *g, const tutti_node *n, const tutti_value *dy,
                        tutti_value *dx)
{
    const group_norm_attr *a = n->attr;
    const tutti_attr attr[2] = {tutti_attr_f("eps", a->eps), tutti_attr_i("groups", a->groups)};
    const tutti_value in[3] = {n->in[0], dy[0], n->in[1]};
    tutti_value d[3] = {0};
    if (dy[0])
        (void)g->emit(g, "group_norm_grad", in, 3, attr, 2, d, 3);
    for (int k = 0; k < 3; k++)
        dx[k] = n->need >> k & 1 ? d[k] : 0;
    return g->status(g);
}

/* As (B, pixels, groups, width). */
static tutti_status decompose(tutti_graph *g, const tutti_node *n, tutti_value *ret_out)
{
    const group_norm_attr *a = n->attr;
    const tutti_desc d = *g->desc(g, n->in[0]);
    const group_norm_shape s = group_norm_shape_for(&d, a);
    const int64_t axes[2] = {1, 3}, split[4] = {s.samples, s.pixels, s.groups, s.width};
    const tutti_value x = tutti_reshape(g, n->in[0], split, 4);
    const tutti_value centred = tutti_sub(g, x, tutti_reduce(g, "mean", x, axes, 2, 1));
    const tutti_value var = tutti_reduce(g, "mean", tutti_mul(g, centred, centred), axes, 2, 1);
    const tutti_value rstd = tutti_op1(g, "rsqrt", tutti_affine(g, var, 1.0, a->eps));
    const tutti_value y =
        tutti_reshape(g, tutti_mul(g, centred, rstd), d.dim, (uint32_t)d.rank);
    ret_out[0] = tutti_add(g, tutti_mul(g, y, n->in[1]), n->in[2]);
    return g->status(g);
}

static const tutti_kernel cpu = {sizeof(tutti_kernel), 1, NULL, run, NULL};

static tutti_value group_norm_onnx(const tutti_onnx *o)
{
    const group_norm_attr *a = o->call->attr;
    const group_norm_shape s = group_norm_shape_of(o->call);
    const int64_t split[4] = {0, s.pixels, s.groups, s.width}, axes[2] = {1, 3};
    const tutti_attr over = tutti_attr_list("axes", axes, 2);
    tutti_value x = onnx_op2(o, "Reshape", o->in[0], onnx_list(o, split, 4));
    x = onnx_op2(o, "Sub", x, onnx_op(o, "ReduceMean", &x, 1, &over, 1));
    const tutti_value square = onnx_op2(o, "Mul", x, x);
    const tutti_value var = onnx_op(o, "ReduceMean", &square, 1, &over, 1);
    const tutti_value wide = onnx_op2(o, "Add", var, onnx_number(o, a->eps));
    x = onnx_op2(o, "Div", x, onnx_op1(o, "Sqrt", wide));
    x = onnx_op2(o, "Reshape", x, o->shape(o));
    return onnx_op2(o, "Add", onnx_op2(o, "Mul", x, o->in[1]), o->in[2]);
}

OP_PLAIN(group_norm, .onnx = group_norm_onnx);
const tutti_op tutti_op_group_norm = {.struct_size = sizeof(tutti_op),
                                      .traits = &group_norm_traits,
                                      .flags = TUTTI_OP_FUSED | TUTTI_OP_REPRODUCIBLE,
                                      .name = "group_norm",
                                      .nin_min = 3,
                                      .nin_max = 3,
                                      .nout = 1,
                                      .attr_size = sizeof(group_norm_attr),
                                      .fields = group_norm_fields,
                                      .nfields = 2,
                                      .infer = infer,
                                      .vjp = vjp,
                                      .decompose = decompose,
                                      .reference = reference,
                                      .cpu = &cpu,
                                      .cuda = &group_norm_cuda};
