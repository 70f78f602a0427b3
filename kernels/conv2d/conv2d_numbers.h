/* conv2d_numbers.h - sixteen numbers at a time: F32 and BF16 in memory, words of pairs, products. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_CONV2D_CONV2D_NUMBERS_H
#define KERNELS_CONV2D_CONV2D_NUMBERS_H

#include "common/gemm_microkernel_loop.h"
#include "tutti/tensor.h"

#include <string.h>

#define INLINE SIMD_INLINE

enum { LANES = SIMD_LANES, REGISTERS = LANES / SIMD_WIDTH };

INLINE void load(const void *from, int32_t dtype, f32x16 *ret)
{
    if (dtype != TUTTI_BF16) {
        *ret = *(const f32x16 *)from;
        return;
    }
    for (int k = 0; k < REGISTERS; k++)
        simd_load_bf16((const uint16_t *)from + k * SIMD_WIDTH, (simd_f32 *)ret + k);
}

INLINE void narrow(const f32x16 *x, void *to)
{
    for (int k = 0; k < REGISTERS; k++)
        simd_store_bf16_flush((const simd_f32 *)x + k, (uint16_t *)to + k * SIMD_WIDTH);
}

#if defined(__AVX512BF16__)
enum { ROWS = 14 }; /* of a tile of products */
#define FMA GEMM_FMA_BF16

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

/* Sixteen words: bf16 of `low` in the lower halves, of `high` in the upper ones. */
INLINE void pair(const f32x16 *low, const f32x16 *high, void *to)
{
    u16x16 a, b;
    narrow(low, &a);
    narrow(high, &b);
    *(u32x16 *)to = __builtin_convertvector(a, u32x16) | __builtin_convertvector(b, u32x16)
                                                             << 16;
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
