/* gemm_microkernel_loop.h - the loop of every GEMM micro-kernel: a tile of y stays in registers while k runs. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_COMMON_GEMM_MICROKERNEL_LOOP_H
#define KERNELS_COMMON_GEMM_MICROKERNEL_LOOP_H

#include "common/gemm_microkernel.h"
#include "common/simd.h"

#if defined(__AVX512BF16__)
#include <immintrin.h>
#elif defined(__ARM_FEATURE_BF16_VECTOR_ARITHMETIC)
#include <arm_neon.h>
#endif

/* Vectors of y's columns in a tile, at most; bytes of a line of the cache, and vectors in one. */
enum { GEMM_MAX_VECS = 8, GEMM_LINE = 64 };
#define GEMM_PER_LINE(vector) ((int)(GEMM_LINE / sizeof(vector)))

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define GEMM_UNROLL /* with a check of each access it takes minutes to compile */
#endif
#endif
#if defined(GEMM_UNROLL)
#elif defined(__clang__)
#define GEMM_UNROLL _Pragma("clang loop unroll(full)")
#else
#define GEMM_UNROLL _Pragma("GCC unroll 16")
#endif

/* Defines name(rows, vecs, ...): acc (rows, vecs vectors) += a (rows, k) b (k, vecs vectors).  `rows` and `vecs` are
 * constants after inlining, so that acc is registers.  `fma(acc, x, b)` adds the products of the vector b and the
 * word at x.  a(r, i) lies at r * a_row + i * a_col; b's rows are b_row words apart; `ahead`, a constant too, is by
 * how many of them loads of b are ahead, 0 where b is in the first cache. */
#define GEMM_MICROKERNEL_LOOP(name, vector, fma)                                               \
    SIMD_INLINE void name(int rows, int vecs, int64_t k, const float *a, int64_t a_row,        \
                          int64_t a_col, const float *b, int64_t b_row, int64_t ahead,         \
                          vector(*acc)[GEMM_MAX_VECS])                                         \
    {                                                                                          \
        enum { WIDTH = sizeof(vector) / sizeof *b };                                           \
        for (int64_t i = 0; i < k; i++, a += a_col, b += b_row) {                              \
            vector x[GEMM_MAX_VECS];                                                           \
            for (int v = 0; v < vecs; v++)                                                     \
                x[v] = *(const vector *)(b + v * WIDTH);                                       \
            for (int v = 0; v < vecs && ahead; v += GEMM_PER_LINE(vector))                     \
                __builtin_prefetch(b + ahead * b_row + v * WIDTH);                             \
            GEMM_UNROLL for (int r = 0; r < rows; r++)                                         \
            {                                                                                  \
                for (int v = 0; v < vecs; v++)                                                 \
                    fma(acc[r][v], a + r * a_row, x[v]);                                       \
            }                                                                                  \
        }                                                                                      \
    }

#define GEMM_FMA_F32(acc, x, b) ((acc) += *(x) * (b))

/* Words are pairs of bf16, whose products are summed in f32: GEMM_FMA_BF16, where there is an instruction. */
#if defined(__AVX512BF16__)
/* clang 16 and 17 crash on a broadcast as a factor of vdpbf16ps, unless it does not see one. */
SIMD_INLINE __m512 gemm_broadcast(const float *x)
{
    __m512 y = _mm512_set1_ps(*x);
#if defined(__clang__) && (__clang_major__ == 16 || __clang_major__ == 17)
    __asm__("" : "+v"(y));
#endif
    return y;
}

#define GEMM_FMA_BF16(acc, x, b)                                                               \
    ((acc) =                                                                                   \
         (f32x16)_mm512_dpbf16_ps((__m512)(acc), (__m512bh)(b), (__m512bh)gemm_broadcast(x)))
#elif defined(__ARM_FEATURE_BF16_VECTOR_ARITHMETIC)
#define GEMM_FMA_BF16(acc, x, b)                                                               \
    ((acc) = (simd_f32)vbfdotq_f32((float32x4_t)(acc), (bfloat16x8_t)(b),                      \
                                   (bfloat16x8_t)vdupq_n_f32(*(x))))
#endif

/* For packed panels: words of k by which loads of b are ahead, since its panel comes from the second cache; and
 * after how many of them the next row of y is asked for. */
enum { GEMM_AHEAD = 16, GEMM_SPREAD = 24 };

/* Defines name(rows, ...), as a gemm_tile, with rows x vecs vectors of sums by `loop`; `rows` and `vecs` are constants
 * after inlining.  Lines of y are asked for one row at a time: a core can wait for a dozen lines, and b's come that way
 * too. */
#define GEMM_PACKED_TILE(name, vector, vecs, loop)                                             \
    SIMD_INLINE void name(int rows, int64_t k, const float *a, const float *b,                 \
                          const float *start, float *y, int64_t y_row)                         \
    {                                                                                          \
        enum { WIDTH = sizeof(vector) / sizeof *b };                                           \
        vector acc[GEMM_MAX_ROWS][GEMM_MAX_VECS];                                              \
        const float *soon = y;                                                                 \
        const int64_t apart = k < rows ? 1 : k < rows * GEMM_SPREAD ? k / rows : GEMM_SPREAD;  \
        GEMM_UNROLL for (int r = 0; r < rows; r++)                                             \
        {                                                                                      \
            const vector zero = {0};                                                           \
            for (int v = 0; v < (vecs); v++)                                                   \
                acc[r][v] = start ? *(const vector *)(start + v * WIDTH) : zero;               \
        }                                                                                      \
        for (int64_t left = k; left > 0; left -= apart) {                                      \
            const int64_t n = left < apart ? left : apart;                                     \
            __builtin_prefetch(soon, 1);                                                       \
            __builtin_prefetch(soon + (vecs)*WIDTH - 1, 1);                                    \
            soon = soon < y + (rows - 1) * y_row ? soon + y_row : soon;                        \
            loop(rows, vecs, n, a, 1, GEMM_A, b, (vecs)*WIDTH, GEMM_AHEAD, acc);               \
            a += n * GEMM_A;                                                                   \
            b += n * (vecs)*WIDTH;                                                             \
        }                                                                                      \
        GEMM_UNROLL for (int r = 0; r < rows; r++)                                             \
        {                                                                                      \
            for (int v = 0; v < (vecs); v++) {                                                 \
                vector *to = (vector *)(y + r * y_row + v * WIDTH);                            \
                *to = start ? acc[r][v] : *to + acc[r][v];                                     \
            }                                                                                  \
        }                                                                                      \
    }

#endif
