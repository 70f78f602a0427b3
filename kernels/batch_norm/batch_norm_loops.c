/* batch_norm_loops.c - the four streaming loops, 16 channels at a time. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "batch_norm/batch_norm.h"

/* Channels of one step: one AVX-512 register of f32, two of f64. */
enum { LANES = 16, HALF = 8, TILE = 64 };

typedef float f32x16 __attribute__((vector_size(64), aligned(4), may_alias));
typedef float f32x8 __attribute__((vector_size(32), aligned(4), may_alias));
typedef double f64x8 __attribute__((vector_size(64), aligned(8), may_alias));

#define INLINE static inline __attribute__((always_inline))

INLINE void sums16(const float *x, int64_t rows, int64_t c, double *sum, double *square)
{
    f64x8 s0 = *(f64x8 *)sum, s1 = *(f64x8 *)(sum + HALF);
    f64x8 q0 = *(f64x8 *)square, q1 = *(f64x8 *)(square + HALF);
    for (int64_t r = 0; r < rows; r++) {
        const f64x8 x0 = __builtin_convertvector(*(const f32x8 *)(x + r * c), f64x8);
        const f64x8 x1 = __builtin_convertvector(*(const f32x8 *)(x + r * c + HALF), f64x8);
        s0 += x0;
        s1 += x1;
        q0 += x0 * x0;
        q1 += x1 * x1;
    }
    *(f64x8 *)sum = s0;
    *(f64x8 *)(sum + HALF) = s1;
    *(f64x8 *)square = q0;
    *(f64x8 *)(square + HALF) = q1;
}

OP_SIMD void batch_norm_sums(const float *x, int64_t rows, int64_t c, double *sum,
                             double *square)
{
    for (int64_t at = 0; at < rows; at += TILE) {
        const int64_t n = rows - at < TILE ? rows - at : TILE;
        const float *tile = x + at * c;
        int64_t k = 0;
        for (; k + LANES <= c; k += LANES)
            sums16(tile + k, n, c, sum + k, square + k);
        for (int64_t r = 0; r < n && k < c; r++) {
            for (int64_t j = k; j < c; j++) {
                const double v = (double)tile[r * c + j];
                sum[j] += v;
                square[j] += v * v;
            }
        }
    }
}

INLINE void grad_sums16(const float *x, const float *dy, const float *mean, int64_t rows,
                        int64_t c, double *sum, double *product)
{
    f64x8 s0 = *(f64x8 *)sum, s1 = *(f64x8 *)(sum + HALF);
    f64x8 p0 = *(f64x8 *)product, p1 = *(f64x8 *)(product + HALF);
    const f32x8 m0 = *(const f32x8 *)mean, m1 = *(const f32x8 *)(mean + HALF);
    for (int64_t r = 0; r < rows; r++) {
        const f64x8 d0 = __builtin_convertvector(*(const f32x8 *)(dy + r * c), f64x8);
        const f64x8 d1 = __builtin_convertvector(*(const f32x8 *)(dy + r * c + HALF), f64x8);
        const f32x8 x0 = *(const f32x8 *)(x + r * c) - m0;
        const f32x8 x1 = *(const f32x8 *)(x + r * c + HALF) - m1;
        s0 += d0;
        s1 += d1;
        p0 += d0 * __builtin_convertvector(x0, f64x8);
        p1 += d1 * __builtin_convertvector(x1, f64x8);
    }
    *(f64x8 *)sum = s0;
    *(f64x8 *)(sum + HALF) = s1;
    *(f64x8 *)product = p0;
    *(f64x8 *)(product + HALF) = p1;
}

OP_SIMD void batch_norm_grad_sums(const float *x, const float *dy, const float *mean,
                                  int64_t rows, int64_t c, double *sum, double *product)
{
    for (int64_t at = 0; at < rows; at += TILE) {
        const int64_t n = rows - at < TILE ? rows - at : TILE;
        const float *tx = x + at * c, *td = dy + at * c;
        int64_t k = 0;
        for (; k + LANES <= c; k += LANES)
            grad_sums16(tx + k, td + k, mean + k, n, c, sum + k, product + k);
        for (int64_t r = 0; r < n && k < c; r++) {
            for (int64_t j = k; j < c; j++) {
                const double d = (double)td[r * c + j];
                sum[j] += d;
                product[j] += d * (double)(tx[r * c + j] - mean[j]);
            }
        }
    }
}

OP_SIMD void batch_norm_apply(const float *x, float *y, int64_t rows, int64_t c,
                              const float *mean, const float *scale, const float *shift)
{
    int64_t k = 0;
    for (; k + LANES <= c; k += LANES) {
        const f32x16 m = *(const f32x16 *)(mean + k), a = *(const f32x16 *)(scale + k),
                     b = *(const f32x16 *)(shift + k);
        for (int64_t r = 0; r < rows; r++)
            *(f32x16 *)(y + r * c + k) = (*(const f32x16 *)(x + r * c + k) - m) * a + b;
    }
    for (int64_t r = 0; r < rows && k < c; r++)
        for (int64_t j = k; j < c; j++)
            y[r * c + j] = (x[r * c + j] - mean[j]) * scale[j] + shift[j];
}

OP_SIMD void batch_norm_grad_apply(const float *x, const float *dy, float *dx, int64_t rows,
                                   int64_t c, const float *coef)
{
    const float *mean = coef, *as = coef + c, *bs = coef + 2 * c, *shift = coef + 3 * c;
    int64_t k = 0;
    for (; k + LANES <= c; k += LANES) {
        const f32x16 m = *(const f32x16 *)(mean + k), a = *(const f32x16 *)(as + k),
                     b = *(const f32x16 *)(bs + k), s = *(const f32x16 *)(shift + k);
        for (int64_t r = 0; r < rows; r++) {
            const int64_t i = r * c + k;
            *(f32x16 *)(dx + i) =
                *(const f32x16 *)(dy + i) * a + (*(const f32x16 *)(x + i) - m) * b + s;
        }
    }
    for (int64_t r = 0; r < rows && k < c; r++) {
        for (int64_t j = k; j < c; j++) {
            const int64_t i = r * c + j;
            dx[i] = dy[i] * as[j] + (x[i] - mean[j]) * bs[j] + shift[j];
        }
    }
}
