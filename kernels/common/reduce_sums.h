/* reduce_sums.h - sums of rows and columns with a fixed order of addition. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_COMMON_REDUCE_SUMS_H
#define KERNELS_COMMON_REDUCE_SUMS_H

#include "common/half_rows.h"
#include "common/op_util.h"
#include "common/simd.h"

/* A row's sum: eight numbers a lane in f32, four lanes' sums joined, then f64: at most ten roundings,
 * so that the error is below 6e-7 of the sum of |x|. */
enum { REDUCE_TILE = 4 * SIMD_LANES, REDUCE_BLOCK = 8 * REDUCE_TILE };

static inline double reduce_row(const float *x, int64_t n)
{
    f64x8 total = {0};
    int64_t i = 0;
    while (n - i >= REDUCE_TILE) {
        const int64_t end =
            n - i < REDUCE_BLOCK ? n - REDUCE_TILE : i + REDUCE_BLOCK - REDUCE_TILE;
        f32x16 s[4] = {{0}};
        for (; i <= end; i += REDUCE_TILE)
            for (int k = 0; k < 4; k++) {
                s[k] += *(const f32x16 *)(x + i + k * SIMD_LANES);
                __builtin_prefetch(x + i + k * SIMD_LANES + SIMD_PREFETCH);
            }
        s[0] = (s[0] + s[1]) + (s[2] + s[3]);
        const f32x8 *half = (const f32x8 *)s;
        total += __builtin_convertvector(half[0], f64x8);
        total += __builtin_convertvector(half[1], f64x8);
    }
    double s = 0.0;
    for (; i < n; i++)
        s += (double)x[i];
    for (int k = 0; k < SIMD_LANES_F64; k++)
        s += total[k];
    return s;
}

/* A row in pieces whose sums are joined, so that threads may share it: numbers in a piece. */
static inline int64_t reduce_piece(int64_t n)
{
    const int64_t each = (n + OP_MOST_PARTS - 1) / OP_MOST_PARTS;
    return each < OP_SERIAL_BELOW ? OP_SERIAL_BELOW : each;
}

/* The sum of row x; part: a number a piece, OP_MOST_PARTS at most. */
static inline double reduce_pieces(const float *x, int64_t n, int threads, double *part)
{
    const int64_t piece = reduce_piece(n), count = (n + piece - 1) / piece;
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (int64_t t = 0; t < count; t++)
        part[t] = reduce_row(x + piece * t, n - piece * t < piece ? n - piece * t : piece);
    double s = 0.0;
    for (int64_t t = 0; t < count; t++)
        s += part[t];
    return s;
}

/* Columns [i, i + 16) of eight rows, while the eight that come next are fetched. */
SIMD_INLINE void reduce_eight(const float *x, int64_t n, double *total)
{
    f32x16 s[4];
    for (int k = 0; k < 4; k++) {
        s[k] = *(const f32x16 *)(x + 2 * k * n) + *(const f32x16 *)(x + (2 * k + 1) * n);
        __builtin_prefetch(x + (2 * k + 8) * n);
        __builtin_prefetch(x + (2 * k + 9) * n);
    }
    s[0] = (s[0] + s[1]) + (s[2] + s[3]);
    simd_add_to(total, s);
}

/* total (n) += rows of x (count, n); eight rows are added up in f32: three roundings each. */
static inline void reduce_columns(const float *x, int64_t count, int64_t n, double *total)
{
    int64_t r = 0;
    for (; r + 8 <= count; r += 8) {
        const float *a = x + r * n;
        const int64_t whole = n / SIMD_LANES * SIMD_LANES;
        for (int64_t i = 0; i < whole; i += SIMD_LANES)
            reduce_eight(a + i, n, total + i);
        OP_LOOP for (int64_t i = whole; i < n; i++)
        {
            const float s = (a[i] + a[n + i]) + (a[2 * n + i] + a[3 * n + i]);
            const float t = (a[4 * n + i] + a[5 * n + i]) + (a[6 * n + i] + a[7 * n + i]);
            total[i] += (double)(s + t);
        }
    }
    for (; r < count; r++)
        for (int64_t i = 0; i < n; i++)
            total[i] += (double)x[r * n + i];
}

/* The same of eight rows of bf16, a register of columns at a time. */
SIMD_INLINE void reduce_eight_bf16(const uint16_t *x, int64_t n, double *total)
{
    simd_f32 s[4], right;
    for (int k = 0; k < 4; k++) {
        simd_load_bf16(x + 2 * k * n, &s[k]);
        simd_load_bf16(x + (2 * k + 1) * n, &right);
        s[k] += right;
        __builtin_prefetch(x + (2 * k + 8) * n);
        __builtin_prefetch(x + (2 * k + 9) * n);
    }
    s[0] = (s[0] + s[1]) + (s[2] + s[3]);
    simd_f64 half[2];
    simd_to_f64(s, half);
    ((simd_f64 *)total)[0] += half[0];
    ((simd_f64 *)total)[1] += half[1];
}

/* reduce_columns of rows of bf16, to the same bits. */
static inline void reduce_columns_bf16(const uint16_t *x, int64_t count, int64_t n,
                                       double *total)
{
    int64_t r = 0;
    for (; r + 8 <= count; r += 8) {
        const uint16_t *a = x + r * n;
        const int64_t whole = n / SIMD_WIDTH * SIMD_WIDTH;
        for (int64_t i = 0; i < whole; i += SIMD_WIDTH)
            reduce_eight_bf16(a + i, n, total + i);
        for (int64_t i = whole; i < n; i++) {
            float v[8];
            for (int k = 0; k < 8; k++)
                v[k] = half_from_bf16(a[k * n + i]);
            total[i] +=
                (double)(((v[0] + v[1]) + (v[2] + v[3])) + ((v[4] + v[5]) + (v[6] + v[7])));
        }
    }
    for (; r < count; r++)
        for (int64_t i = 0; i < n; i++)
            total[i] += (double)half_from_bf16(x[r * n + i]);
}

/* The same of rows [first, first + count) of x in F32 or BF16. */
static inline void reduce_rows_of(const void *x, int32_t dtype, int64_t first, int64_t count,
                                  int64_t n, double *total)
{
    if (dtype == TUTTI_F32)
        reduce_columns((const float *)x + first * n, count, n, total);
    else
        reduce_columns_bf16((const uint16_t *)x + first * n, count, n, total);
}

#endif
