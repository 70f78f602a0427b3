/* rms_norm_loops.c - rows forward and backward, from the cache but for the first look at them. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/simd.h"
#include "rms_norm/rms_norm.h"

#include <math.h>

/* Sums go in f32 over SOME numbers of a row, TILE of them side by side, and then in f64. */
enum { SIDE = 4, TILE = SIDE * SIMD_LANES, SOME = 16 * TILE };

#define INLINE SIMD_INLINE

INLINE double join(const f32x16 *s)
{
    const f32x16 all = (s[0] + s[1]) + (s[2] + s[3]);
    return simd_sum(&all);
}

/* The product of lanes at `i`: x x, or x dy gamma where there is a dy. */
INLINE void add_product(const float *x, const float *dy, const float *gamma, int64_t i,
                        f32x16 *sum)
{
    const f32x16 v = *(const f32x16 *)(x + i);
    *sum += dy ? v * (*(const f32x16 *)(dy + i) * *(const f32x16 *)(gamma + i)) : v * v;
}

/* The same of the last `n` numbers, fewer than a vector has. */
INLINE void add_rest(const float *x, const float *dy, const float *gamma, int64_t n,
                     f32x16 *sum)
{
    f32x16 vx, vd, vg;
    simd_load_some(x, n, 0.0f, &vx);
    if (dy) {
        simd_load_some(dy, n, 0.0f, &vd);
        simd_load_some(gamma, n, 0.0f, &vg);
    }
    *sum += dy ? vx * (vd * vg) : vx * vx;
}

/* sum x^2, or with dy sum x dy gamma */
INLINE double products_of(const float *x, const float *dy, const float *gamma, int64_t n)
{
    double sum = 0.0;
    for (int64_t at = 0; at < n; at += SOME) {
        const int64_t end = at + SOME < n ? at + SOME : n;
        f32x16 s[SIDE] = {{0}};
        int64_t i = at;
        for (; i + TILE <= end; i += TILE)
            for (int k = 0; k < SIDE; k++)
                add_product(x, dy, gamma, i + k * SIMD_LANES, &s[k]);
        for (; i + SIMD_LANES <= end; i += SIMD_LANES)
            add_product(x, dy, gamma, i, &s[0]);
        if (i < end)
            add_rest(x + i, dy ? dy + i : NULL, dy ? gamma + i : NULL, end - i, &s[1]);
        sum += join(s);
    }
    return sum;
}

void rms_norm_forward(const float *x, const float *gamma, double eps, float *y, int64_t rows,
                      int64_t n, float *rstd)
{
    for (int64_t r = 0; r < rows; r++, x += n, y += n) {
        const double square = products_of(x, NULL, NULL, n) / (double)n;
        const float s = (float)(1.0 / sqrt(square + eps));
        for (int64_t i = 0; i < n; i += SIMD_LANES)
            __builtin_prefetch(x + n + i);
        OP_LOOP for (int64_t i = 0; i < n; i++)
        {
            y[i] = x[i] * s * gamma[i];
        }
        rstd[r] = s;
    }
}

/* dx = dy gamma rstd + x by_x: one row; `plus`, a constant: and what is to be added. */
INLINE void grad_row(int plus, const rms_norm_grad_part *q, int64_t at, float rstd, float by_x)
{
    const float *x = q->x + at, *dy = q->dy + at, *gamma = q->gamma;
    const float *more = plus ? q->more + at : x;
    float *dx = q->dx + at, *dgamma = q->dgamma;
    OP_LOOP for (int64_t i = 0; i < q->n; i++)
    {
        const float g = dy[i], v = x[i];
        const float d = g * gamma[i] * rstd + v * by_x;
        dgamma[i] += g * (v * rstd);
        dx[i] = plus ? d + more[i] : d;
    }
}

void rms_norm_backward(const rms_norm_grad_part *q, int64_t first, int64_t end)
{
    for (int64_t r = first; r < end; r++) {
        const int64_t at = r * q->n;
        const double rstd = (double)q->rstd[r];
        const double product = products_of(q->x + at, q->dy + at, q->gamma, q->n);
        const float by_x = (float)(-product * rstd * rstd * rstd / (double)q->n);
        if (q->more)
            grad_row(1, q, at, q->rstd[r], by_x);
        else
            grad_row(0, q, at, q->rstd[r], by_x);
    }
}
