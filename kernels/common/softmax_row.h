/* softmax_row.h - one row of exponentials: its largest number, its sum, the row divided by it. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_COMMON_SOFTMAX_ROW_H
#define KERNELS_COMMON_SOFTMAX_ROW_H

#include "common/fastmath.h"
#include "common/op_util.h"
#include "common/simd.h"

/* A row is gone over once, a chunk at a time: its largest number, then its exponentials less that; when
 * a chunk has a larger one, what was there is scaled.  A chunk's sums go in f32 lanes, joined in f64:
 * the same on every CPU with FMA.  A NaN in x reaches the sum. */
enum { SOFTMAX_CHUNK = 1024, SOFTMAX_CHUNKS = 64, SOFTMAX_TILE = 4 * SIMD_LANES };

/* Chunks are larger where there would be too many. */
static inline int64_t softmax_chunk(int64_t n)
{
    const int64_t some = (n + SOFTMAX_CHUNKS - 1) / SOFTMAX_CHUNKS;
    return some <= SOFTMAX_CHUNK ? SOFTMAX_CHUNK
                                 : (some + SOFTMAX_TILE - 1) / SOFTMAX_TILE * SOFTMAX_TILE;
}

SIMD_INLINE float softmax_larger(const float *x, int64_t n, float max)
{
    return simd_max(x, n, max);
}

/* What to take from x; where all was -infinity so far, the exponentials are 0. */
SIMD_INLINE float softmax_shift(float max)
{
    return max > -INFINITY ? max : 0.0f;
}

/* sum exp(x - max); the exponentials go to y where it is not NULL, which may be x */
SIMD_INLINE double softmax_add(const float *x, float max, float *y, int64_t n, int64_t ahead)
{
    f32x16 s[4] = {{0}};
    float e[SOFTMAX_TILE];
    int64_t i = 0;
    for (; i + SOFTMAX_TILE <= n; i += SOFTMAX_TILE) {
        float *to = y ? y + i : e;
        for (int k = 0; k < 4; k++)
            __builtin_prefetch(x + i + k * SIMD_LANES + ahead);
        OP_LOOP for (int k = 0; k < SOFTMAX_TILE; k++)
        {
            to[k] = fast_exp_down(x[i + k] - max);
        }
        for (int k = 0; k < 4; k++)
            s[k] += *(const f32x16 *)(to + k * SIMD_LANES);
    }
    for (; i < n; i += SIMD_LANES) {
        const int64_t some = n - i < SIMD_LANES ? n - i : SIMD_LANES;
        simd_load_some(x + i, some, -INFINITY, (f32x16 *)e);
        OP_LOOP for (int k = 0; k < SIMD_LANES; k++)
        {
            e[k] = fast_exp_down(e[k] - max);
        }
        for (int64_t k = 0; y && k < some; k++)
            y[i + k] = e[k];
        for (int64_t k = some; k < SIMD_LANES; k++)
            e[k] = 0.0f;
        s[0] += *(const f32x16 *)e;
    }
    s[0] = (s[0] + s[1]) + (s[2] + s[3]);
    return simd_sum(s);
}

/* sum exp(x - *ret_max), *ret_max the largest of x */
static inline double softmax_sum(const float *x, int64_t n, float *ret_max)
{
    float max = -INFINITY;
    double sum = 0.0;
    for (int64_t i = 0; i < n; i += SOFTMAX_CHUNK) {
        const int64_t some = n - i < SOFTMAX_CHUNK ? n - i : SOFTMAX_CHUNK;
        const float larger = softmax_larger(x + i, some, max);
        if (larger > max && sum > 0.0)
            sum *= fast_exp_down_f64((double)max - (double)larger);
        max = larger;
        sum += softmax_add(x + i, softmax_shift(max), NULL, some, SOFTMAX_CHUNK);
    }
    *ret_max = max;
    return sum;
}

/* y = factor exp(x) / sum exp(x); y may be x */
static inline void softmax_row(const float *x, float *y, int64_t n, double factor)
{
    const int64_t chunk = softmax_chunk(n);
    float max = -INFINITY, was[SOFTMAX_CHUNKS];
    double sum = 0.0;
    for (int64_t i = 0; i < n; i += chunk) {
        const int64_t some = n - i < chunk ? n - i : chunk;
        const float larger = softmax_larger(x + i, some, max);
        if (larger > max && sum > 0.0)
            sum *= fast_exp_down_f64((double)max - (double)larger);
        was[i / chunk] = max = larger;
        sum += softmax_add(x + i, softmax_shift(max), y + i, some, chunk);
    }
    factor /= sum;
    for (int64_t i = 0; i < n; i += chunk) {
        const int64_t end = n - i < chunk ? n : i + chunk;
        const float less = was[i / chunk];
        const float scale =
            (float)(less < max ? factor * fast_exp_down_f64((double)less - (double)max)
                               : factor);
        OP_LOOP for (int64_t k = i; k < end; k++)
        {
            y[k] *= scale;
        }
    }
}

static inline double softmax_log_sum_f64(const double *x, int64_t stride, int64_t n)
{
    double max = -INFINITY, sum = 0.0;
    for (int64_t k = 0; k < n; k++)
        max = x[k * stride] > max ? x[k * stride] : max;
    for (int64_t k = 0; k < n; k++)
        sum += exp(x[k * stride] - max);
    return max + log(sum);
}

#endif
