/* batch_norm_grad_op.c - the gradient of batch_norm's y by x, gamma and beta. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "batch_norm/batch_norm.h"

#include <string.h>

/* In: x, dy (..., C), gamma, mean, invstd (C).  Out: dx (..., C), dgamma, dbeta (C).
 *   dbeta = sum dy, dgamma = sum dy xhat with xhat = (x - mean) invstd,
 *   dx = gamma invstd (dy - dbeta / N - xhat dgamma / N). */

static const char *const names[] = {"gamma", "mean", "invstd"};

static tutti_status infer(const tutti_op_call *c, tutti_desc *out, tutti_error *err)
{
    tutti_status s = batch_norm_want("batch_norm_grad", c, 2, names, err);
    if (!s)
        s = op_want_same("batch_norm_grad", "x", &c->in[0], "dy", &c->in[1], err);
    if (!s)
        s = op_want_f32("batch_norm_grad", "dy", &c->in[1], err);
    if (s)
        return s;
    out[0] = c->in[0];
    out[1] = out[2] = c->in[2];
    return TUTTI_OK;
}

static tutti_status reference(const tutti_op_call *c, const double *const *in,
                              double *const *out)
{
    const int64_t n = batch_norm_channels(&c->in[0]), rows = batch_norm_rows(&c->in[0]);
    const double *x = in[0], *dy = in[1];
    for (int64_t k = 0; k < n; k++) {
        const double gamma = in[2][k], mean = in[3][k], invstd = in[4][k];
        double dgamma = 0.0, dbeta = 0.0;
        for (int64_t r = 0; r < rows; r++) {
            dbeta += dy[r * n + k];
            dgamma += dy[r * n + k] * (x[r * n + k] - mean) * invstd;
        }
        for (int64_t r = 0; r < rows; r++) {
            const double xhat = (x[r * n + k] - mean) * invstd;
            out[0][r * n + k] =
                gamma * invstd *
                (dy[r * n + k] - dbeta / (double)rows - xhat * dgamma / (double)rows);
        }
        out[1][k] = dgamma;
        out[2][k] = dbeta;
    }
    return TUTTI_OK;
}

/* Scratch: per thread sum and product (C) f64; then batch_norm_grad_apply's coefficients. */
static tutti_status prepare(const tutti_op_call *c, void **ret_state, uint64_t *ret_scratch,
                            tutti_error *err)
{
    (void)ret_state, (void)err;
    const uint64_t n = (uint64_t)batch_norm_channels(&c->in[0]);
    *ret_scratch = n * ((uint64_t)c->threads * 2 * sizeof(double) + 4 * sizeof(float));
    return TUTTI_OK;
}

static void finish(int64_t n, int64_t rows, const double *sums, int threads,
                   const void *const *in, void *const *out, float *coef)
{
    const float *gamma = in[2], *mean = in[3], *invstd = in[4];
    float *dgamma = out[1], *dbeta = out[2];
    const double each = rows ? 1.0 / (double)rows : 0.0;
    for (int64_t k = 0; k < n; k++) {
        double sum = 0.0, product = 0.0;
        for (int t = 0; t < threads; t++) {
            sum += sums[2 * t * n + k];
            product += sums[(2 * t + 1) * n + k];
        }
        const double i = (double)invstd[k], a = (double)gamma[k] * i;
        dgamma[k] = (float)(product * i);
        dbeta[k] = (float)sum;
        coef[k] = mean[k];
        coef[n + k] = (float)a;
        coef[2 * n + k] = (float)(-a * i * i * product * each);
        coef[3 * n + k] = (float)(-a * sum * each);
    }
}

static tutti_status run(void *state, const tutti_op_call *c, const void *const *in,
                        void *const *out, void *scratch)
{
    (void)state;
    const int64_t n = batch_norm_channels(&c->in[0]), rows = batch_norm_rows(&c->in[0]);
    const int threads = op_threads(c, rows * n);
    const float *x = in[0], *dy = in[1];
    float *dx = out[0], *coef = (float *)scratch + 4 * n * c->threads;
    double *sums = scratch;
#pragma omp parallel num_threads(threads) if (threads > 1)
    {
#pragma omp for schedule(static)
        for (int t = 0; t < threads; t++) {
            int64_t first;
            const int64_t count = op_share(rows, t, threads, &first);
            memset(sums + 2 * t * n, 0, (size_t)(2 * n) * sizeof *sums);
            batch_norm_grad_sums(x + first * n, dy + first * n, in[3], count, n,
                                 sums + 2 * t * n, sums + (2 * t + 1) * n);
        }
#pragma omp single
        finish(n, rows, sums, threads, in, out, coef);
#pragma omp for schedule(static)
        for (int t = 0; t < threads; t++) {
            int64_t first, end = op_share(rows, t, threads, &first);
            for (end += first; end > first; end -= BATCH_NORM_BLOCK) {
                const int64_t at =
                    end - BATCH_NORM_BLOCK > first ? end - BATCH_NORM_BLOCK : first;
                batch_norm_grad_apply(x + at * n, dy + at * n, dx + at * n, end - at, n, coef);
            }
        }
    }
    return TUTTI_OK;
}

static tutti_value channel_sum(tutti_graph *g, tutti_value v)
{
    const tutti_desc d = *g->desc(g, v);
    const int64_t axes[TUTTI_MAX_RANK] = {0, 1, 2, 3, 4, 5};
    return d.rank > 1 ? tutti_reduce(g, "sum", v, axes, (uint32_t)d.rank - 1, 0) : v;
}

static tutti_status decompose(tutti_graph *g, const tutti_node *n, tutti_value *ret_out)
{
    const tutti_desc x = *g->desc(g, n->in[0]);
    const int64_t rows = batch_norm_rows(&x);
    const double each = rows ? 1.0 / (double)rows : 0.0;
    const tutti_value dy = n->in[1], gamma = n->in[2], mean = n->in[3], invstd = n->in[4];
    const tutti_value xhat = tutti_mul(g, tutti_sub(g, n->in[0], mean), invstd);
    const tutti_value dgamma = channel_sum(g, tutti_mul(g, dy, xhat));
    const tutti_value dbeta = channel_sum(g, dy);
    const tutti_value less = tutti_sub(g, dy, tutti_affine(g, dbeta, each, 0.0));
    const tutti_value rest =
        tutti_sub(g, less, tutti_mul(g, xhat, tutti_affine(g, dgamma, each, 0.0)));
    ret_out[0] = tutti_mul(g, rest, tutti_mul(g, gamma, invstd));
    ret_out[1] = dgamma;
    ret_out[2] = dbeta;
    return g->status(g);
}

static const tutti_kernel cpu = {sizeof(tutti_kernel), 3, prepare, run, NULL};

const tutti_op tutti_op_batch_norm_grad = {.struct_size = sizeof(tutti_op),
                                           .flags = TUTTI_OP_FUSED,
                                           .name = "batch_norm_grad",
                                           .nin_min = 5,
                                           .nin_max = 5,
                                           .nout = 3,
                                           .infer = infer,
                                           .decompose = decompose,
                                           .reference = reference,
                                           .cpu = &cpu};
