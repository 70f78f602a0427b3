/* rms_norm_grad_op.c - the gradient of rms_norm's y by x and gamma. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "rms_norm/rms_norm.h"

#include <string.h>

/* In: x, dy (..., C), gamma (C), rstd (...), optionally more (..., C), which is added to dx.
 * Out: dx (..., C), dgamma (C).
 * With xhat = x rstd and d = dy gamma:
 *   dgamma = sum dy xhat over the rows,
 *   dx = rstd (d - xhat mean(d xhat)), the mean over a row. */

static const char name[] = "rms_norm_grad";

static tutti_status infer(const tutti_op_call *c, tutti_desc *out, tutti_error *err)
{
    const tutti_desc *x = &c->in[0];
    tutti_status s = rms_norm_want(name, x, err);
    if (s)
        return s;
    const tutti_desc row = {{rms_norm_width(x)}, 1, TUTTI_F32},
                     batch_dims = rms_norm_batch_dims(x);
    if ((s = rms_norm_want_shape(name, "dy", &c->in[1], x, err)) ||
        (s = rms_norm_want_shape(name, "gamma", &c->in[2], &row, err)) ||
        (s = rms_norm_want_shape(name, "rstd", &c->in[3], &batch_dims, err)) ||
        (c->nin > 4 && (s = rms_norm_want_shape(name, "more", &c->in[4], x, err))))
        return s;
    out[0] = *x;
    out[1] = row;
    return TUTTI_OK;
}

static tutti_status reference(const tutti_op_call *c, const double *const *in,
                              double *const *out)
{
    const int64_t n = rms_norm_width(&c->in[0]), rows = rms_norm_rows(&c->in[0]);
    memset(out[1], 0, (size_t)n * sizeof(double));
    for (int64_t r = 0; r < rows; r++) {
        const double *x = in[0] + r * n, *dy = in[1] + r * n, rstd = in[3][r];
        double product = 0.0;
        for (int64_t k = 0; k < n; k++) {
            out[1][k] += dy[k] * x[k] * rstd;
            product += dy[k] * in[2][k] * x[k] * rstd / (double)n;
        }
        for (int64_t k = 0; k < n; k++)
            out[0][r * n + k] = rstd * (dy[k] * in[2][k] - x[k] * rstd * product) +
                                (c->nin > 4 ? in[4][r * n + k] : 0.0);
    }
    return TUTTI_OK;
}

/* The rows' sums for gamma go in f32 over this many rows, then in f64. */
enum { BLOCK = 32 };

/* Scratch, a part of the rows: dgamma (C) f64, then the same in f32. */
static uint64_t part_size(int64_t n)
{
    return ((uint64_t)n * (sizeof(double) + sizeof(float)) + 63) / 64 * 64;
}

static tutti_status prepare(const tutti_op_call *c, void **ret_state, uint64_t *ret_scratch,
                            tutti_error *err)
{
    (void)ret_state, (void)err;
    *ret_scratch =
        part_size(rms_norm_width(&c->in[0])) * (uint64_t)op_parts(4 * tutti_numel(&c->in[0]));
    return TUTTI_OK;
}

static void part(const void *const *in, const float *more, float *dx, int64_t n, int64_t first,
                 int64_t end, double *sums)
{
    float *block = (float *)(sums + n);
    const rms_norm_grad_part q = {in[0], in[1], in[2], in[3], more, dx, block, n};
    memset(sums, 0, (size_t)n * sizeof *sums);
    for (int64_t at = first; at < end; at += BLOCK) {
        memset(block, 0, (size_t)n * sizeof *block);
        TUTTI_ISA_PICK(rms_norm_backward)(&q, at, at + BLOCK < end ? at + BLOCK : end);
        for (int64_t k = 0; k < n; k++)
            sums[k] += (double)block[k];
    }
}

static tutti_status run(void *state, const tutti_op_call *c, const void *const *in,
                        void *const *out, void *scratch)
{
    (void)state;
    const int64_t n = rms_norm_width(&c->in[0]), rows = rms_norm_rows(&c->in[0]);
    const int threads = op_threads(c, 4 * rows * n), parts = op_parts(4 * rows * n);
    const uint64_t size = part_size(n);
    const float *more = c->nin > 4 ? in[4] : NULL;
    float *dgamma = out[1];
    double *sums = scratch;
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (int t = 0; t < parts; t++) {
        const int64_t first = rows * t / parts, end = rows * (t + 1) / parts;
        part(in, more, out[0], n, first, end, (double *)((char *)scratch + (uint64_t)t * size));
    }
    op_join_parts(sums, parts, size / sizeof *sums, n);
    for (int64_t k = 0; k < n; k++)
        dgamma[k] = (float)sums[k];
    return TUTTI_OK;
}

static tutti_status decompose(tutti_graph *g, const tutti_node *n, tutti_value *ret_out)
{
    static const int64_t axes[TUTTI_MAX_RANK] = {0, 1, 2, 3, 4, 5};
    const int32_t rank = g->desc(g, n->in[0])->rank;
    const int64_t last = rank - 1;
    const tutti_value dy = n->in[1], rstd = rms_norm_column(g, n->in[3]);
    const tutti_value xhat = tutti_mul(g, n->in[0], rstd), d = tutti_mul(g, dy, n->in[2]);
    const tutti_value product = tutti_reduce(g, "mean", tutti_mul(g, d, xhat), &last, 1, 1);
    const tutti_value dx = tutti_mul(g, rstd, tutti_sub(g, d, tutti_mul(g, xhat, product)));
    const tutti_value dgamma = tutti_mul(g, dy, xhat);
    ret_out[0] = n->nin > 4 ? tutti_add(g, dx, n->in[4]) : dx;
    ret_out[1] =
        rank > 1 ? tutti_reduce(g, "sum", dgamma, axes, (uint32_t)rank - 1, 0) : dgamma;
    return g->status(g);
}

/* dx may lie where x, dy or more lay. */
static const tutti_kernel cpu = {
    .struct_size = sizeof(tutti_kernel), .inplace = 19, .prepare = prepare, .run = run};

static const tutti_fusion rms_norm_grad_fusions[] = {
    {TUTTI_FUSE_RESIDUAL_GRAD, 0, "rms_norm_grad"},
    {0, 0, NULL},
};
OP_TRAITS(rms_norm_grad, F32, WHOLE, CONSTANTS, NEVER, UNCOUNTED, NONE, OTHER,
          .fusions = rms_norm_grad_fusions);
const tutti_op tutti_op_rms_norm_grad = {.struct_size = sizeof(tutti_op),
                                         .traits = &rms_norm_grad_traits,
                                         .flags = TUTTI_OP_FUSED | TUTTI_OP_REPRODUCIBLE,
                                         .name = "rms_norm_grad",
                                         .nin_min = 4,
                                         .nin_max = 5,
                                         .nout = 2,
                                         .infer = infer,
                                         .decompose = decompose,
                                         .reference = reference,
                                         .cpu = &cpu,
                                         .cuda = &rms_norm_grad_cuda};
