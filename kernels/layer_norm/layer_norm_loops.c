/* layer_norm_loops.c - rows forward and backward, from the cache but for the first look at them. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/simd.h"
#include "layer_norm/layer_norm.h"

#include <math.h>

/* Sums go in f32 over SOME numbers of a row, TILE of them side by side, and then in f64. */
enum { SIDE = 4, TILE = SIDE * SIMD_LANES, SOME = 16 * TILE };

#define INLINE SIMD_INLINE

INLINE double join(const f32x16 *s)
{
    const f32x16 all = (s[0] + s[1]) + (s[2] + s[3]);
    return simd_sum(&all);
}

INLINE double sum_of(const float *x, int64_t n)
{
    double sum = 0.0;
    for (int64_t at = 0; at < n; at += SOME) {
        const int64_t end = at + SOME < n ? at + SOME : n;
        f32x16 s[SIDE] = {{0}}, rest;
        int64_t i = at;
        for (; i + TILE <= end; i += TILE)
            for (int k = 0; k < SIDE; k++)
                s[k] += *(const f32x16 *)(x + i + k * SIMD_LANES);
        for (; i + SIMD_LANES <= end; i += SIMD_LANES)
            s[0] += *(const f32x16 *)(x + i);
        if (i < end) {
            simd_load_some(x + i, end - i, 0.0f, &rest);
            s[1] += rest;
        }
        sum += join(s);
    }
    return sum;
}

INLINE void add_square(const f32x16 *x, float shift, f32x16 *s, f32x16 *q)
{
    const f32x16 d = *x - shift;
    *s += d;
    *q += d * d;
}

/* sum (x - shift), sum (x - shift)^2 */
INLINE void squares_of(const float *x, float shift, int64_t n, double *ret_sum,
                       double *ret_square)
{
    double sum = 0.0, square = 0.0;
    for (int64_t at = 0; at < n; at += SOME) {
        const int64_t end = at + SOME < n ? at + SOME : n;
        f32x16 s[SIDE] = {{0}}, q[SIDE] = {{0}}, rest;
        int64_t i = at;
        for (; i + TILE <= end; i += TILE)
            for (int k = 0; k < SIDE; k++)
                add_square((const f32x16 *)(x + i + k * SIMD_LANES), shift, &s[k], &q[k]);
        for (; i + SIMD_LANES <= end; i += SIMD_LANES)
            add_square((const f32x16 *)(x + i), shift, &s[0], &q[0]);
        if (i < end) {
            simd_load_some(x + i, end - i, shift, &rest);
            add_square(&rest, shift, &s[1], &q[1]);
        }
        sum += join(s);
        square += join(q);
    }
    *ret_sum = sum;
    *ret_square = square;
}

/* The mean of a first pass is rounded; the second one tells how far it is off. */
void layer_norm_forward(const float *x, const float *gamma, const float *beta, double eps,
                        float *y, int64_t rows, int64_t n, float *mean, float *rstd)
{
    for (int64_t r = 0; r < rows; r++, x += n, y += n) {
        const float about = (float)(sum_of(x, n) / (double)n);
        double sum, square;
        squares_of(x, about, n, &sum, &square);
        const double off = sum / (double)n, var = square / (double)n - off * off;
        const float m = (float)((double)about + off);
        const float s = (float)(1.0 / sqrt((var < 0.0 ? 0.0 : var) + eps));
        for (int64_t i = 0; i < n; i += SIMD_LANES)
            __builtin_prefetch(x + n + i);
        OP_LOOP for (int64_t i = 0; i < n; i++)
        {
            y[i] = (x[i] - m) * s * gamma[i] + beta[i];
        }
        mean[r] = m;
        rstd[r] = s;
    }
}

INLINE void add_product(const f32x16 *x, const f32x16 *dy, const f32x16 *gamma, float mean,
                        f32x16 *s, f32x16 *p)
{
    const f32x16 d = *dy * *gamma;
    *s += d;
    *p += d * (*x - mean);
}

/* sum d, sum d (x - mean) with d = dy gamma */
INLINE void products_of(const float *x, const float *dy, const float *gamma, float mean,
                        int64_t n, double *ret_sum, double *ret_product)
{
    double sum = 0.0, product = 0.0;
    for (int64_t at = 0; at < n; at += SOME) {
        const int64_t end = at + SOME < n ? at + SOME : n;
        f32x16 s[SIDE] = {{0}}, p[SIDE] = {{0}};
        int64_t i = at;
        for (; i + TILE <= end; i += TILE)
            for (int k = 0; k < SIDE; k++)
                add_product((const f32x16 *)(x + i + k * SIMD_LANES),
                            (const f32x16 *)(dy + i + k * SIMD_LANES),
                            (const f32x16 *)(gamma + i + k * SIMD_LANES), mean, &s[k], &p[k]);
        for (; i + SIMD_LANES <= end; i += SIMD_LANES)
            add_product((const f32x16 *)(x + i), (const f32x16 *)(dy + i),
                        (const f32x16 *)(gamma + i), mean, &s[0], &p[0]);
        if (i < end) {
            f32x16 vx, vd, vg;
            simd_load_some(x + i, end - i, mean, &vx);
            simd_load_some(dy + i, end - i, 0.0f, &vd);
            simd_load_some(gamma + i, end - i, 0.0f, &vg);
            add_product(&vx, &vd, &vg, mean, &s[1], &p[1]);
        }
        sum += join(s);
        product += join(p);
    }
    *ret_sum = sum;
    *ret_product = product;
}

/* What a row needs for its dx = dy gamma rstd + xhat by_xhat + shift. */
typedef struct line {
    float mean, rstd, by_xhat, shift;
} line;

/* Columns [i, i + 16) of `m` rows, a constant; meanwhile the rows that come next are fetched. */
INLINE void grad_step(int m, int plus, const layer_norm_grad_part *q, int64_t at, int64_t i,
                      const line *l)
{
    const f32x16 gamma = *(const f32x16 *)(q->gamma + i);
    f32x16 by_gamma = *(const f32x16 *)(q->dgamma + i);
    f32x16 by_beta = *(const f32x16 *)(q->dbeta + i);
    for (int k = 0; k < m; k++) {
        const int64_t j = at + k * q->n + i;
        const f32x16 g = *(const f32x16 *)(q->dy + j);
        const f32x16 xhat = (*(const f32x16 *)(q->x + j) - l[k].mean) * l[k].rstd;
        f32x16 dx = g * gamma * l[k].rstd + (xhat * l[k].by_xhat + l[k].shift);
        if (plus)
            dx += *(const f32x16 *)(q->more + j);
        __builtin_prefetch(q->x + j + m * q->n);
        __builtin_prefetch(q->dy + j + m * q->n);
        __builtin_prefetch(q->dx + j + m * q->n, 1);
        by_gamma += g * xhat;
        by_beta += g;
        *(f32x16 *)(q->dx + j) = dx;
    }
    *(f32x16 *)(q->dgamma + i) = by_gamma;
    *(f32x16 *)(q->dbeta + i) = by_beta;
}

/* `m` rows from element `at` on: gamma's and beta's sums are read and written once for all of them. */
INLINE void grad_of(int m, int plus, const layer_norm_grad_part *q, int64_t at, const line *l)
{
    int64_t i = 0;
    for (; i + SIMD_LANES <= q->n; i += SIMD_LANES)
        grad_step(m, plus, q, at, i, l);
    for (; i < q->n; i++) {
        for (int k = 0; k < m; k++) {
            const int64_t j = at + k * q->n + i;
            const float g = q->dy[j], xhat = (q->x[j] - l[k].mean) * l[k].rstd;
            const float more = plus ? q->more[j] : 0.0f;
            q->dgamma[i] += g * xhat;
            q->dbeta[i] += g;
            q->dx[j] = g * q->gamma[i] * l[k].rstd + (xhat * l[k].by_xhat + l[k].shift) + more;
        }
    }
}

void layer_norm_backward(const layer_norm_grad_part *q, int64_t first, int64_t end)
{
    enum { AT_ONCE = 4 };
    for (int64_t r = first; r < end; r += AT_ONCE) {
        const int64_t some = end - r < AT_ONCE ? end - r : AT_ONCE;
        line l[AT_ONCE];
        for (int64_t k = 0; k < some; k++) {
            const float mean = q->mean[r + k], rstd = q->rstd[r + k];
            double sum, product;
            products_of(q->x + (r + k) * q->n, q->dy + (r + k) * q->n, q->gamma, mean, q->n,
                        &sum, &product);
            const double each = (double)rstd / (double)q->n;
            l[k] = (line){mean, rstd, (float)(-product * each * (double)rstd),
                          (float)(-sum * each)};
        }
        const int all = some == AT_ONCE;
        if (all && q->more)
            grad_of(AT_ONCE, 1, q, r * q->n, l);
        else if (all)
            grad_of(AT_ONCE, 0, q, r * q->n, l);
        for (int64_t k = 0; k < some && !all; k++)
            grad_of(1, q->more != NULL, q, (r + k) * q->n, l + k);
    }
}
