/* gemm_sums.h - the loops of GEMM micro-kernels: a tile of y stays in registers while k runs. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_COMMON_GEMM_SUMS_H
#define KERNELS_COMMON_GEMM_SUMS_H

#include "common/gemm_microkernel.h"
#include "common/simd.h"

/* Words of k by which loads are ahead, b's panel coming from the second cache; after how many of them the next
 * row of y is asked for. */
enum { GEMM_AHEAD = 16, GEMM_SPREAD = 24 };

#if defined(__clang__)
#define GEMM_UNROLL _Pragma("clang loop unroll(full)")
#else
#define GEMM_UNROLL _Pragma("GCC unroll 16")
#endif

/* Defines name(rows, ...), as a gemm_tile, with rows x 2 registers of sums; `rows` is a constant after inlining.
 * `add(sum, x, b)` adds the products of a register of b and the word x of a to a register of sums.  Lines of y
 * are asked for one row at a time: a core can wait for a dozen lines, and b's come that way too. */
#define GEMM_SUMS(name, lanes, LANES, add)                                                     \
    LANES_INLINE void name(int rows, int64_t k, const float *a, const float *b,                \
                           const float *start, float *y, int64_t y_row)                        \
    {                                                                                          \
        lanes sum[GEMM_MAX_ROWS][2];                                                           \
        const float *soon = y;                                                                 \
        const int64_t apart = k < rows ? 1 : k < rows * GEMM_SPREAD ? k / rows : GEMM_SPREAD;  \
        GEMM_UNROLL for (int r = 0; r < rows; r++)                                             \
        {                                                                                      \
            const lanes zero = {0};                                                            \
            sum[r][0] = start ? *(const lanes *)start : zero;                                  \
            sum[r][1] = start ? *(const lanes *)(start + LANES) : zero;                        \
        }                                                                                      \
        for (int64_t left = k; left > 0; left -= apart) {                                      \
            __builtin_prefetch(soon, 1);                                                       \
            __builtin_prefetch(soon + 2 * LANES - 1, 1);                                       \
            soon = soon < y + (rows - 1) * y_row ? soon + y_row : soon;                        \
            for (int64_t i = left < apart ? left : apart; i > 0; i--) {                        \
                const lanes b0 = *(const lanes *)b, b1 = *(const lanes *)(b + LANES);          \
                __builtin_prefetch(b + GEMM_AHEAD * 2 * LANES);                                \
                __builtin_prefetch(b + GEMM_AHEAD * 2 * LANES + LANES);                        \
                GEMM_UNROLL for (int r = 0; r < rows; r++)                                     \
                {                                                                              \
                    add(sum[r][0], a + r, b0);                                                 \
                    add(sum[r][1], a + r, b1);                                                 \
                }                                                                              \
                a += GEMM_A;                                                                   \
                b += 2 * LANES;                                                                \
            }                                                                                  \
        }                                                                                      \
        GEMM_UNROLL for (int r = 0; r < rows; r++)                                             \
        {                                                                                      \
            lanes *to = (lanes *)(y + r * y_row), *next = (lanes *)(y + r * y_row + LANES);    \
            *to = start ? sum[r][0] : *to + sum[r][0];                                         \
            *next = start ? sum[r][1] : *next + sum[r][1];                                     \
        }                                                                                      \
    }

/* Where neither is packed: rows x vecs registers of sums (constants after inlining, vecs <= GEMM_VECS) get
 * a (rows, k) b (k, vecs * LANES); a lies as the steps say, b's rows are b_row floats apart. */
enum { GEMM_VECS = 4 };
LANES_INLINE void gemm_sums_strided(int rows, int vecs, int64_t k, const float *a,
                                    int64_t a_row, int64_t a_col, const float *b, int64_t b_row,
                                    f32x16 (*sum)[GEMM_VECS])
{
    for (int64_t i = 0; i < k; i++) {
        f32x16 x[GEMM_VECS];
        for (int v = 0; v < vecs; v++)
            x[v] = *(const f32x16 *)(b + i * b_row + v * LANES);
        for (int r = 0; r < rows; r++) {
            const float w = a[r * a_row + i * a_col];
            for (int v = 0; v < vecs; v++)
                sum[r][v] += w * x[v];
        }
    }
}

#endif
