/* group_norm_grad_op.c - the gradient of group_norm by x, gamma and beta. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "group_norm/group_norm.h"

#include <math.h>
#include <string.h>

/* In: x, dy (B, ..., C), gamma (C).  Out: dx (B, ..., C), dgamma, dbeta (C).
 * With xhat = (x - mean) rstd and d = dy gamma:
 *   dbeta = sum dy, dgamma = sum dy xhat over samples and pixels,
 *   dx = rstd (d - mean(d) - xhat mean(d xhat)), means over a group of a sample. */

static const char name[] = "group_norm_grad";

static tutti_status infer(const tutti_op_call *c, tutti_desc *out, tutti_error *err)
{
    const tutti_desc *x = &c->in[0];
    tutti_status s = group_norm_want(name, c, err);
    if (s)
        return s;
    const tutti_desc row = {{x->dim[x->rank - 1]}, 1, TUTTI_F32};
    if ((s = group_norm_want_shape(name, "dy", &c->in[1], x, err)) ||
        (s = group_norm_want_shape(name, "gamma", &c->in[2], &row, err)))
        return s;
    out[0] = *x;
    out[1] = out[2] = row;
    return TUTTI_OK;
}

static tutti_status reference(const tutti_op_call *c, const double *const *in,
                              double *const *out)
{
    const group_norm_shape s = group_norm_shape_of(c);
    const int64_t n = s.pixels * s.width;
    memset(out[1], 0, (size_t)s.channels * sizeof(double));
    memset(out[2], 0, (size_t)s.channels * sizeof(double));
    for (int64_t k = 0; k < s.samples * s.groups; k++) {
        const int64_t first = k % s.groups * s.width;
        const int64_t at = k / s.groups * s.pixels * s.channels + first;
        double mean = 0.0, var = 0.0, a = 0.0, b = 0.0;
        for (int64_t p = 0; p < n; p++)
            mean += in[0][at + p / s.width * s.channels + p % s.width] / (double)n;
        for (int64_t p = 0; p < n; p++)
            var +=
                pow(in[0][at + p / s.width * s.channels + p % s.width] - mean, 2.0) / (double)n;
        const double rstd = 1.0 / sqrt(var + s.eps);
        for (int64_t p = 0; p < n; p++) {
            const int64_t x = at + p / s.width * s.channels + p % s.width;
            const int64_t channel = first + p % s.width;
            const double xhat = (in[0][x] - mean) * rstd, d = in[1][x] * in[2][channel];
            out[1][channel] += in[1][x] * xhat;
            out[2][channel] += in[1][x];
            a += d / (double)n;
            b += d * xhat / (double)n;
        }
        for (int64_t p = 0; p < n; p++) {
            const int64_t x = at + p / s.width * s.channels + p % s.width;
            const double d = in[1][x] * in[2][first + p % s.width];
            out[0][x] = rstd * (d - a - (in[0][x] - mean) * rstd * b);
        }
    }
    return TUTTI_OK;
}

/* dx of group g of the sample at x; sums[0] and sums[1] of each channel of the group grow. */
static void group(const group_norm_shape *s, const float *x, const float *dy,
                  const float *gamma, float *dx, int64_t g, double *sums)
{
    double mean, rstd, a = 0.0, b = 0.0;
    group_norm_statistics(s, x, g, &mean, &rstd);
    for (int64_t p = 0; p < s->pixels; p++)
        for (int64_t k = 0; k < s->width; k++) {
            const int64_t c = g * s->width + k, at = p * s->channels + c;
            const double xhat = ((double)x[at] - mean) * rstd;
            const double d = (double)dy[at] * (double)gamma[c];
            sums[2 * k] += (double)dy[at] * xhat;
            sums[2 * k + 1] += (double)dy[at];
            a += d;
            b += d * xhat;
        }
    a /= (double)(s->pixels * s->width);
    b /= (double)(s->pixels * s->width);
    for (int64_t p = 0; p < s->pixels; p++)
        for (int64_t c = g * s->width; c < (g + 1) * s->width; c++) {
            const int64_t at = p * s->channels + c;
            const double xhat = ((double)x[at] - mean) * rstd;
            dx[at] = (float)(rstd * ((double)dy[at] * (double)gamma[c] - a - xhat * b));
        }
}

/* Scratch: two f64 for each channel. */
static tutti_status prepare(const tutti_op_call *c, void **ret_state, uint64_t *ret_scratch,
                            tutti_error *err)
{
    (void)ret_state, (void)err;
    *ret_scratch = (uint64_t)group_norm_shape_of(c).channels * 2 * sizeof(double);
    return TUTTI_OK;
}

static tutti_status run(void *state, const tutti_op_call *c, const void *const *in,
                        void *const *out, void *scratch)
{
    (void)state;
    const group_norm_shape s = group_norm_shape_of(c);
    const int64_t sample = s.pixels * s.channels;
    const int threads = op_threads(c, 4 * s.samples * sample);
    double *sums = scratch;
    memset(sums, 0, (size_t)s.channels * 2 * sizeof *sums);
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (int64_t g = 0; g < s.groups; g++)
        for (int64_t b = 0; b < s.samples; b++)
            group(&s, (const float *)in[0] + b * sample, (const float *)in[1] + b * sample,
                  in[2], (float *)out[0] + b * sample, g, sums + 2 * g * s.width);
    for (int64_t k = 0; k < s.channels; k++) {
        ((float *)out[1])[k] = (float)sums[2 * k];
        ((float *)out[2])[k] = (float)sums[2 * k + 1];
    }
    return TUTTI_OK;
}

/* Sums for channels of a value (B, pixels, groups, width). */
static tutti_value channel_sums(tutti_graph *g, tutti_value v, int64_t channels)
{
    static const int64_t axes[2] = {0, 1};
    return tutti_reshape(g, tutti_reduce(g, "sum", v, axes, 2, 0), &channels, 1);
}

static tutti_status decompose(tutti_graph *g, const tutti_node *n, tutti_value *ret_out)
{
    const group_norm_attr *a = n->attr;
    const tutti_desc d = *g->desc(g, n->in[0]);
    const group_norm_shape s = group_norm_shape_for(&d, a);
    const int64_t axes[2] = {1, 3}, split[4] = {s.samples, s.pixels, s.groups, s.width};
    const int64_t row[2] = {s.groups, s.width};
    const tutti_value x = tutti_reshape(g, n->in[0], split, 4);
    const tutti_value dy = tutti_reshape(g, n->in[1], split, 4);
    const tutti_value centred = tutti_sub(g, x, tutti_reduce(g, "mean", x, axes, 2, 1));
    const tutti_value var = tutti_reduce(g, "mean", tutti_mul(g, centred, centred), axes, 2, 1);
    const tutti_value rstd = tutti_op1(g, "rsqrt", tutti_affine(g, var, 1.0, a->eps));
    const tutti_value xhat = tutti_mul(g, centred, rstd);
    const tutti_value e = tutti_mul(g, dy, tutti_reshape(g, n->in[2], row, 2));
    const tutti_value mean = tutti_reduce(g, "mean", e, axes, 2, 1);
    const tutti_value part = tutti_reduce(g, "mean", tutti_mul(g, e, xhat), axes, 2, 1);
    const tutti_value rest = tutti_sub(g, tutti_sub(g, e, mean), tutti_mul(g, xhat, part));
    ret_out[0] = tutti_reshape(g, tutti_mul(g, rstd, rest), d.dim, (uint32_t)d.rank);
    ret_out[1] = channel_sums(g, tutti_mul(g, dy, xhat), s.channels);
    ret_out[2] = channel_sums(g, dy, s.channels);
    return g->status(g);
}

static const tutti_kernel cpu = {sizeof(tutti_kernel), 0, prepare, run, NULL};

OP_PLAIN(group_norm_grad);
const tutti_op tutti_op_group_norm_grad = {.struct_size = sizeof(tutti_op),
                                           .traits = &group_norm_grad_traits,
                                           .flags = TUTTI_OP_FUSED | TUTTI_OP_REPRODUCIBLE,
                                           .name = "group_norm_grad",
                                           .nin_min = 3,
                                           .nin_max = 3,
                                           .nout = 3,
                                           .attr_size = sizeof(group_norm_attr),
                                           .fields = group_norm_fields,
                                           .nfields = 2,
                                           .infer = infer,
                                           .decompose = decompose,
                                           .reference = reference,
                                           .cpu = &cpu,
                                           .cuda = &group_norm_grad_cuda};
