/* batch_norm_loops.c - the four streaming loops, 16 channels at a time. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "batch_norm/batch_norm.h"

/* A step is 16 channels (one AVX-512 register of f32, two of f64); up to four neighbouring steps
 * of a row are done at once, so that rows are read as they lie in memory. */
enum { LANES = 16, HALF = 8, STEPS = 4, TILE = 64 };

typedef float f32x16 __attribute__((vector_size(64), aligned(4), may_alias));
typedef float f32x8 __attribute__((vector_size(32), aligned(4), may_alias));
typedef double f64x8 __attribute__((vector_size(64), aligned(8), may_alias));

#define INLINE static inline __attribute__((always_inline))

/* Calls a loop with the number of steps as a constant. */
#define WITH_STEPS(steps, call)                                                                \
    switch (steps) {                                                                           \
    case 1:                                                                                    \
        call(1);                                                                               \
        break;                                                                                 \
    case 2:                                                                                    \
        call(2);                                                                               \
        break;                                                                                 \
    case 3:                                                                                    \
        call(3);                                                                               \
        break;                                                                                 \
    default:                                                                                   \
        call(STEPS);                                                                           \
    }

/* Steps to do at once from channel k on. */
INLINE int64_t steps_at(int64_t k, int64_t c)
{
    const int64_t left = (c - k) / LANES;
    return left < STEPS ? left : STEPS;
}

INLINE void sums(int steps, const float *x, int64_t rows, int64_t c, double *sum,
                 double *square)
{
    f64x8 s[2 * STEPS], q[2 * STEPS];
    for (int h = 0; h < 2 * steps; h++) {
        s[h] = *(f64x8 *)(sum + h * HALF);
        q[h] = *(f64x8 *)(square + h * HALF);
    }
    for (int64_t r = 0; r < rows; r++) {
        for (int h = 0; h < 2 * steps; h++) {
            const f32x8 v = *(const f32x8 *)(x + r * c + h * HALF);
            const f64x8 d = __builtin_convertvector(v, f64x8);
            s[h] += d;
            q[h] += d * d;
        }
    }
    for (int h = 0; h < 2 * steps; h++) {
        *(f64x8 *)(sum + h * HALF) = s[h];
        *(f64x8 *)(square + h * HALF) = q[h];
    }
}

OP_SIMD void batch_norm_sums(const float *x, int64_t rows, int64_t c, double *sum,
                             double *square)
{
    for (int64_t at = 0; at < rows; at += TILE) {
        const int64_t n = rows - at < TILE ? rows - at : TILE;
        const float *tile = x + at * c;
        int64_t k = 0, steps;
        for (; (steps = steps_at(k, c)) > 0; k += steps * LANES) {
#define CALL(m) sums(m, tile + k, n, c, sum + k, square + k)
            WITH_STEPS(steps, CALL)
#undef CALL
        }
        for (int64_t r = 0; r < n && k < c; r++) {
            for (int64_t j = k; j < c; j++) {
                const double v = (double)tile[r * c + j];
                sum[j] += v;
                square[j] += v * v;
            }
        }
    }
}

INLINE void grad_sums(int steps, const float *x, const float *dy, const float *mean,
                      int64_t rows, int64_t c, double *sum, double *product)
{
    f64x8 s[2 * STEPS], p[2 * STEPS];
    f32x8 m[2 * STEPS];
    for (int h = 0; h < 2 * steps; h++) {
        s[h] = *(f64x8 *)(sum + h * HALF);
        p[h] = *(f64x8 *)(product + h * HALF);
        m[h] = *(const f32x8 *)(mean + h * HALF);
    }
    for (int64_t r = 0; r < rows; r++) {
        for (int h = 0; h < 2 * steps; h++) {
            const int64_t i = r * c + h * HALF;
            const f64x8 d = __builtin_convertvector(*(const f32x8 *)(dy + i), f64x8);
            const f32x8 centred = *(const f32x8 *)(x + i) - m[h];
            s[h] += d;
            p[h] += d * __builtin_convertvector(centred, f64x8);
        }
    }
    for (int h = 0; h < 2 * steps; h++) {
        *(f64x8 *)(sum + h * HALF) = s[h];
        *(f64x8 *)(product + h * HALF) = p[h];
    }
}

OP_SIMD void batch_norm_grad_sums(const float *x, const float *dy, const float *mean,
                                  int64_t rows, int64_t c, double *sum, double *product)
{
    for (int64_t at = 0; at < rows; at += TILE) {
        const int64_t n = rows - at < TILE ? rows - at : TILE;
        const float *tx = x + at * c, *td = dy + at * c;
        int64_t k = 0, steps;
        for (; (steps = steps_at(k, c)) > 0; k += steps * LANES) {
#define CALL(m) grad_sums(m, tx + k, td + k, mean + k, n, c, sum + k, product + k)
            WITH_STEPS(steps, CALL)
#undef CALL
        }
        for (int64_t r = 0; r < n && k < c; r++) {
            for (int64_t j = k; j < c; j++) {
                const double d = (double)td[r * c + j];
                sum[j] += d;
                product[j] += d * (double)(tx[r * c + j] - mean[j]);
            }
        }
    }
}

INLINE void apply(int steps, const float *x, float *y, int64_t rows, int64_t c,
                  const float *mean, const float *scale, const float *shift)
{
    f32x16 m[STEPS], a[STEPS], b[STEPS];
    for (int h = 0; h < steps; h++) {
        m[h] = *(const f32x16 *)(mean + h * LANES);
        a[h] = *(const f32x16 *)(scale + h * LANES);
        b[h] = *(const f32x16 *)(shift + h * LANES);
    }
    for (int64_t r = 0; r < rows; r++) {
        for (int h = 0; h < steps; h++) {
            const int64_t i = r * c + h * LANES;
            *(f32x16 *)(y + i) = (*(const f32x16 *)(x + i) - m[h]) * a[h] + b[h];
        }
    }
}

OP_SIMD void batch_norm_apply(const float *x, float *y, int64_t rows, int64_t c,
                              const float *mean, const float *scale, const float *shift)
{
    int64_t k = 0, steps;
    for (; (steps = steps_at(k, c)) > 0; k += steps * LANES) {
#define CALL(n) apply(n, x + k, y + k, rows, c, mean + k, scale + k, shift + k)
        WITH_STEPS(steps, CALL)
#undef CALL
    }
    for (int64_t r = 0; r < rows && k < c; r++)
        for (int64_t j = k; j < c; j++)
            y[r * c + j] = (x[r * c + j] - mean[j]) * scale[j] + shift[j];
}

INLINE void grad_apply(int steps, const float *x, const float *dy, float *dx, int64_t rows,
                       int64_t c, const float *coef)
{
    f32x16 m[STEPS], a[STEPS], b[STEPS], s[STEPS];
    for (int h = 0; h < steps; h++) {
        m[h] = *(const f32x16 *)(coef + h * LANES);
        a[h] = *(const f32x16 *)(coef + c + h * LANES);
        b[h] = *(const f32x16 *)(coef + 2 * c + h * LANES);
        s[h] = *(const f32x16 *)(coef + 3 * c + h * LANES);
    }
    for (int64_t r = 0; r < rows; r++) {
        for (int h = 0; h < steps; h++) {
            const int64_t i = r * c + h * LANES;
            *(f32x16 *)(dx + i) = *(const f32x16 *)(dy + i) * a[h] +
                                  (*(const f32x16 *)(x + i) - m[h]) * b[h] + s[h];
        }
    }
}

OP_SIMD void batch_norm_grad_apply(const float *x, const float *dy, float *dx, int64_t rows,
                                   int64_t c, const float *coef)
{
    const float *mean = coef, *as = coef + c, *bs = coef + 2 * c, *shift = coef + 3 * c;
    int64_t k = 0, steps;
    for (; (steps = steps_at(k, c)) > 0; k += steps * LANES) {
#define CALL(n) grad_apply(n, x + k, dy + k, dx + k, rows, c, coef + k)
        WITH_STEPS(steps, CALL)
#undef CALL
    }
    for (int64_t r = 0; r < rows && k < c; r++) {
        for (int64_t j = k; j < c; j++) {
            const int64_t i = r * c + j;
            dx[i] = dy[i] * as[j] + (x[i] - mean[j]) * bs[j] + shift[j];
        }
    }
}
