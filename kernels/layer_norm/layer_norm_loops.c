/* layer_norm_loops.c - one row forward and backward. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "layer_norm/layer_norm.h"

#include <math.h>

/* Sums go in sixteen f64 lanes joined in order: the same on every CPU. */
enum { LANES = 16 };

static inline double joined(const double *lane)
{
    double sum = 0.0;
    for (int k = 0; k < LANES; k++)
        sum += lane[k];
    return sum;
}

OP_SIMD void layer_norm_row(const float *x, const float *gamma, const float *beta, double eps,
                            float *y, int64_t n, float *ret_mean, float *ret_rstd)
{
    double lane[LANES] = {0};
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int k = 0; k < LANES; k++)
            lane[k] += (double)x[i + k];
    for (int k = 0; i < n; i++, k++)
        lane[k] += (double)x[i];
    const double mean = joined(lane) / (double)n;
    for (int k = 0; k < LANES; k++)
        lane[k] = 0.0;
    for (i = 0; i + LANES <= n; i += LANES) {
        for (int k = 0; k < LANES; k++) {
            const double d = (double)x[i + k] - mean;
            lane[k] += d * d;
        }
    }
    for (int k = 0; i < n; i++, k++)
        lane[k] += ((double)x[i] - mean) * ((double)x[i] - mean);
    const float m = (float)mean, r = (float)(1.0 / sqrt(joined(lane) / (double)n + eps));
    OP_LOOP for (i = 0; i < n; i++)
    {
        y[i] = (x[i] - m) * r * gamma[i] + beta[i];
    }
    *ret_mean = m;
    *ret_rstd = r;
}

/* With xhat = (x - mean) rstd and d = dy gamma: dx = rstd (d - mean(d) - xhat mean(d xhat)). */
OP_SIMD void layer_norm_grad_row(const float *x, const float *dy, const float *gamma,
                                 float mean, float rstd, float *dx, float *dgamma, float *dbeta,
                                 int64_t n)
{
    double sum[LANES] = {0}, product[LANES] = {0};
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        for (int k = 0; k < LANES; k++) {
            const float d = dy[i + k] * gamma[i + k];
            sum[k] += (double)d;
            product[k] += (double)d * (double)((x[i + k] - mean) * rstd);
        }
    }
    for (int k = 0; i < n; i++, k++) {
        const float d = dy[i] * gamma[i];
        sum[k] += (double)d;
        product[k] += (double)d * (double)((x[i] - mean) * rstd);
    }
    const float a = (float)(joined(sum) / (double)n), b = (float)(joined(product) / (double)n);
    OP_LOOP for (i = 0; i < n; i++)
    {
        const float xhat = (x[i] - mean) * rstd, g = dy[i];
        dgamma[i] += g * xhat;
        dbeta[i] += g;
        dx[i] = rstd * (g * gamma[i] - a - xhat * b);
    }
}
