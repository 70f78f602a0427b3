/* conv2d_numbers.h - sixteen numbers at a time: F32 and BF16 in memory, words of pairs, products. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_CONV2D_CONV2D_NUMBERS_H
#define KERNELS_CONV2D_CONV2D_NUMBERS_H

#include "common/gemm_microkernel_loop.h"
#include "tutti/tensor.h"

#include <string.h>

#define INLINE SIMD_INLINE

typedef uint16_t u16x16 __attribute__((vector_size(32), aligned(2)));
typedef uint32_t u32x16 __attribute__((vector_size(64), aligned(4)));

enum { LANES = 16 };

/* gcc 12 upcasts halves of a vector one by one where it is not told otherwise. */
INLINE void load(const void *from, int32_t dtype, f32x16 *ret)
{
#if defined(__AVX512BF16__)
    if (dtype == TUTTI_BF16) {
        const __m512i wide = _mm512_cvtepu16_epi32(_mm256_loadu_si256(from));
        *ret = (f32x16)_mm512_slli_epi32(wide, 16);
        return;
    }
#endif
    if (dtype == TUTTI_BF16)
        *ret = (f32x16)(__builtin_convertvector(*(const u16x16 *)from, u32x16) << 16);
    else
        *ret = *(const f32x16 *)from;
}

#if defined(__AVX512BF16__)
enum { ROWS = 14 }; /* of a tile of products */
#define FMA GEMM_FMA_BF16

INLINE void narrow(const f32x16 *x, void *to)
{
    _mm256_storeu_si256(to, (__m256i)_mm512_cvtneps_pbh((__m512)*x));
}

INLINE void pair(const f32x16 *low, const f32x16 *high, void *to)
{
    const __m512i turns =
        _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7,
                         22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
    const __m512i both = (__m512i)_mm512_cvtne2ps_pbh((__m512)*high, (__m512)*low);
    _mm512_storeu_si512(to, _mm512_permutexvar_epi16(turns, both));
}
#else
enum { ROWS = 2 };

/* In the upper halves: rounded to nearest, ties to even, NaNs quiet. */
INLINE void rounded(const f32x16 *x, u32x16 *ret)
{
    const u32x16 bits = (u32x16)*x;
    const u32x16 nan = (u32x16)((bits & 0x7FFFFFFFu) > 0x7F800000u);
    *ret = ((bits + 0x7FFFu + (bits >> 16 & 1u)) & ~nan) | ((bits | 0x400000u) & nan);
}

INLINE void narrow(const f32x16 *x, void *to)
{
    u32x16 bits;
    rounded(x, &bits);
    *(u16x16 *)to = __builtin_convertvector(bits >> 16, u16x16);
}

/* Sixteen words: bf16 of `low` in the lower halves, of `high` in the upper ones. */
INLINE void pair(const f32x16 *low, const f32x16 *high, void *to)
{
    u32x16 a, b;
    rounded(low, &a);
    rounded(high, &b);
    *(u32x16 *)to = a >> 16 | (b & 0xFFFF0000u);
}

/* vdpbf16ps */
INLINE void multiply_pairs(f32x16 *acc, const float *x, const f32x16 *b)
{
    uint32_t word;
    float low, high;
    memcpy(&word, x, sizeof word);
    const uint32_t shifted = word << 16, kept = word & 0xFFFF0000u;
    memcpy(&low, &shifted, sizeof low);
    memcpy(&high, &kept, sizeof high);
    const u32x16 bits = (u32x16)*b;
    *acc += (f32x16)(bits << 16) * low;
    *acc += (f32x16)(bits & 0xFFFF0000u) * high;
}
#define FMA(acc, x, b) multiply_pairs(&(acc), x, &(b))
#endif

/* Bytes of so many elements. */
INLINE int64_t bytes_of(int32_t dtype, int64_t n)
{
    return n * (dtype == TUTTI_BF16 ? 2 : 4);
}

/* Columns of the panel at column c of `count`. */
INLINE int64_t width_of(int64_t c, int64_t count, int64_t columns)
{
    return count - c < columns ? count - c : columns;
}

#endif
