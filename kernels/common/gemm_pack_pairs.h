/* gemm_pack_pairs.h - factors rounded to 16 bits as pairs along K: what the packing of bf16 and f16 micro-kernels is made of. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_COMMON_GEMM_PACK_PAIRS_H
#define KERNELS_COMMON_GEMM_PACK_PAIRS_H

#include "common/gemm_microkernel_loop.h"
#include "common/simd_transpose.h"
#include "tutti/tensor.h"

#include <immintrin.h>
#include <string.h>

/* What factors are rounded to: bf16, or f16 in sources that define PAIRS_F16 before their includes. */
#if defined(PAIRS_F16)
enum { GEMM_PAIRS = TUTTI_F16 };
#else
enum { GEMM_PAIRS = TUTTI_BF16 };
#endif

/* Rows to be packed come from memory.  Of so many, each panel's part is written before the next panel's: panels begin
 * multiples of 4 KB apart, and lines of all of them at once are more than a set of the first cache holds. */
enum { GEMM_ROWS_AT_ONCE = 16 };

/* Rows to come, `stride` bytes apart and `wide` bytes each: their lines are asked for one by one in the order of memory,
 * which units that prefetch recognize, and into the second cache, since the first has other things to hold. */
typedef struct gemm_ahead {
    const char *at, *end; /* in the row at `row` */
    const char *row;
    int64_t stride, wide;
} gemm_ahead;

enum { GEMM_GROUPS_AHEAD = 3 };

/* Behind the group of GEMM_ROWS_AT_ONCE rows of which the first begins at `row`. */
SIMD_INLINE gemm_ahead gemm_ahead_of(const char *row, int64_t stride, int64_t wide)
{
    const char *first = row + GEMM_GROUPS_AHEAD * GEMM_ROWS_AT_ONCE * stride;
    return (gemm_ahead){first, first + wide, first, stride, wide};
}

/* What two rows of sixteen numbers take. */
SIMD_INLINE void gemm_ask(gemm_ahead *a, int32_t dtype)
{
    for (int k = 0; k < (dtype == TUTTI_F32 ? 2 : 1); k++) {
        __builtin_prefetch(a->at, 0, 2);
        a->at += GEMM_LINE;
        if (a->at >= a->end) {
            a->row += a->stride;
            a->at = a->row;
            a->end = a->row + a->wide;
        }
    }
}

/* Sixteen pairs: of the first sixteen numbers in the lower halves, of the others in the upper ones. */
SIMD_INLINE __m512i gemm_interleave(__m512i both)
{
    const __m512i turns =
        _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7,
                         22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
    return _mm512_permutexvar_epi16(turns, both);
}

/* Where element `at` of a matrix lies. */
SIMD_INLINE const char *gemm_place(const gemm_matrix *m, int64_t at)
{
    return (const char *)m->data + at * gemm_number_bytes(m->dtype);
}

/* The first n of sixteen. */
SIMD_INLINE __mmask16 gemm_first_of(int64_t n)
{
    return (__mmask16)(n >= 16 ? 0xFFFFu : (1u << n) - 1u);
}

/* Rounded to nearest, ties to even: sixteen numbers, and those of `low` with those of `high` behind them.  clang 18 cannot
 * join two halves of bf16. */
#if defined(PAIRS_F16)
SIMD_INLINE __m256i gemm_round(__m512 x)
{
    return _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

SIMD_INLINE __m512i gemm_round_two(__m512 high, __m512 low)
{
    return _mm512_inserti64x4(_mm512_castsi256_si512(gemm_round(low)), gemm_round(high), 1);
}
#else
SIMD_INLINE __m256i gemm_round(__m512 x)
{
    return (__m256i)_mm512_cvtneps_pbh(x);
}

SIMD_INLINE __m512i gemm_round_two(__m512 high, __m512 low)
{
    return (__m512i)_mm512_cvtne2ps_pbh(high, low);
}
#endif

/* The first n of sixteen numbers at `from`, rounded; zeros behind them. */
SIMD_INLINE __m256i gemm_load_one(const char *from, int32_t dtype, int64_t n)
{
    if (dtype == GEMM_PAIRS)
        return _mm256_maskz_loadu_epi16(gemm_first_of(n), from);
    return gemm_round(_mm512_maskz_loadu_ps(gemm_first_of(n), from));
}

/* Words of k [0, words) of `lines` (16 at most) rows of numbers that lie one after the other along K: word j of
 * line i goes to to[j * to_row + i].  The last line again beyond them. */
SIMD_INLINE void gemm_along(int64_t lines, int64_t k, const gemm_matrix *m, int64_t first,
                            int64_t stride, int32_t dtype, float *to, int64_t to_row)
{
    const char *line[16];
    const int64_t size = gemm_number_bytes(dtype);
    for (int64_t i = 0; i < 16; i++)
        line[i] = gemm_place(m, first + (i < lines ? i : lines - 1) * stride);
    for (int64_t j = 0; j < k; j += 16) {
        const int64_t n = k - j < 16 ? k - j : 16, words = (n + 1) / 2;
        f32x8 x[8];
        float rest[8 * 16];
        float *at = words == 8 ? to + j / 2 * to_row : rest;
        const int64_t row = words == 8 ? to_row : 16;
        for (int half = 0; half < 2; half++) {
            for (int i = 0; i < 8; i++) {
                const char *from = line[8 * half + i] + j * size;
                __builtin_prefetch(from + 16 * stride * size);
                x[i] = (f32x8)gemm_load_one(from, dtype, n);
            }
            simd_transpose_8x8(x, at + 8 * half, row);
        }
        for (int64_t w = 0; w < words && at == rest; w++)
            memcpy(to + (j / 2 + w) * to_row, rest + w * 16, 16 * sizeof *to);
    }
}

/* The first n of sixteen numbers at `low`, behind them the first m of sixteen at `high`, rounded; zeros for the rest. */
SIMD_INLINE __m512i gemm_load_two(const char *low, int64_t n, const char *high, int64_t m,
                                  int32_t dtype)
{
    if (dtype == TUTTI_F32)
        return gemm_round_two(_mm512_maskz_loadu_ps(gemm_first_of(m), high),
                              _mm512_maskz_loadu_ps(gemm_first_of(n), low));
    const __m256i a = _mm256_maskz_loadu_epi16(gemm_first_of(n), low);
    const __m256i b = _mm256_maskz_loadu_epi16(gemm_first_of(m), high);
    return _mm512_inserti64x4(_mm512_castsi256_si512(a), b, 1);
}

/* Sixteen pairs of the numbers at `low` and, a row of k later, at `high` (NULL: beyond K); n of them count. */
SIMD_INLINE __m512i gemm_across(const char *low, const char *high, int32_t dtype, int64_t n)
{
    return gemm_interleave(gemm_load_two(low, n, high, high ? n : 0, dtype));
}

/* As gemm_pack_columns, for a dtype that is a constant after inlining. */
SIMD_INLINE void gemm_pack_columns_of(int64_t wide, int64_t grain, int64_t k, int64_t cols,
                                      const gemm_matrix *b, int32_t dtype, float *to)
{
    const int64_t some = (k + 1) / 2, words = (some + grain - 1) / grain * grain;
    const int64_t size = gemm_number_bytes(dtype);
    for (int64_t j = 0; j < cols && b->col != 1;
         j += 16) { /* beyond `cols` the last one again */
        float *at = to + j / wide * wide * words + j % wide;
        gemm_along(cols - j < 16 ? cols - j : 16, k, b, j * b->col, b->col, dtype, at, wide);
        if (cols - j <= 16 && j % wide == 0)
            gemm_along(1, k, b, (cols - 1) * b->col, b->col, dtype, at + 16, wide);
    }
    for (int64_t top = 0; top < k && b->col == 1; top += GEMM_ROWS_AT_ONCE) {
        const int64_t end = k - top < GEMM_ROWS_AT_ONCE ? k : top + GEMM_ROWS_AT_ONCE;
        gemm_ahead ahead =
            gemm_ahead_of(gemm_place(b, top * b->row), b->row * size, cols * size);
        for (int64_t j = 0; j < cols; j += wide)
            for (int64_t i = top; i < end; i += 2)
                for (int64_t r = j; r < j + wide; r += 16) {
                    const int64_t n = cols - r < 0 ? 0 : cols - r < 16 ? cols - r : 16;
                    const char *low = gemm_place(b, i * b->row + r);
                    const char *next = i + 1 < k ? low + b->row * size : NULL;
                    gemm_ask(&ahead, dtype);
                    _mm512_storeu_si512(to + j * words + i / 2 * wide + r - j,
                                        gemm_across(low, next, dtype, n));
                }
    }
    for (int64_t j = 0; j < cols && some < words; j += wide)
        memset(to + j * words + some * wide, 0, (size_t)((words - some) * wide) * sizeof *to);
}

/* k by `cols` columns of b in panels of `wide` words (a multiple of 16); words come in multiples of
 * `grain`, with zeros beyond K.  `wide` and `grain` are constants after inlining. */
SIMD_INLINE void gemm_pack_columns(int64_t wide, int64_t grain, int64_t k, int64_t cols,
                                   const gemm_matrix *b, float *to)
{
    if (b->dtype == GEMM_PAIRS)
        gemm_pack_columns_of(wide, grain, k, cols, b, GEMM_PAIRS, to);
    else
        gemm_pack_columns_of(wide, grain, k, cols, b, TUTTI_F32, to);
}

#endif
