/* simd.h - SIMD: vectors of sixteen floats, sums in an order that no CPU changes, the registers of this instruction set. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_COMMON_SIMD_H
#define KERNELS_COMMON_SIMD_H

#include <stdint.h>

#if defined(__AVX512BF16__)
#include <immintrin.h>
#elif defined(__ARM_FEATURE_BF16_VECTOR_ARITHMETIC)
#include <arm_neon.h>
#elif defined(__ARM_FEATURE_SVE_BITS) && __ARM_FEATURE_SVE_BITS == 512
#define SIMD_SVE512 1
#include <arm_sve.h>
#endif

/* Clang before 17 spells it without the second underscore. */
#if defined(__AMX_BF16__) || defined(__AMXBF16__)
#define SIMD_AMX_BF16 1
#endif

/* One AVX-512 register of f32, two of f64; compilers make several of them where registers are smaller.
 * Sums take a few numbers in each lane in f32 and join the lanes in f64. */
enum { SIMD_LANES = 16, SIMD_LANES_F64 = 8 };

/* How far ahead to fetch what a core reads as a stream: twice as fast from the L3 of a Xeon. */
enum { SIMD_PREFETCH = 2048 };

/* They overlay arrays of numbers: everything is built with -fno-strict-aliasing. */
typedef float f32x16 __attribute__((vector_size(64), aligned(4)));
typedef float f32x8 __attribute__((vector_size(32), aligned(4)));
typedef int32_t i32x16 __attribute__((vector_size(64), aligned(4)));
typedef uint32_t u32x16 __attribute__((vector_size(64), aligned(4)));
typedef uint16_t u16x16 __attribute__((vector_size(32), aligned(2)));
typedef double f64x8 __attribute__((vector_size(64), aligned(8)));
typedef double f64x4 __attribute__((vector_size(32), aligned(8)));
typedef double f64x2 __attribute__((vector_size(16), aligned(8)));

/* What a register of this instruction set holds, as f32, as a mask for those, and half of it as f64.  Loops that keep
 * much in registers are written with these, since gcc 12 takes vectors that are wider than a register through
 * memory. */
#if defined(__AVX512F__) || defined(SIMD_SVE512)
enum { SIMD_WIDTH = 16 };
#elif defined(__AVX__)
enum { SIMD_WIDTH = 8 };
#else
enum { SIMD_WIDTH = 4 };
#endif
#if defined(__AVX512F__) || defined(__aarch64__)
enum { SIMD_REGISTERS = 32 };
#else
enum { SIMD_REGISTERS = 16 };
#endif
typedef float simd_f32 __attribute__((vector_size(4 * SIMD_WIDTH), aligned(4)));
typedef float simd_f32_half __attribute__((vector_size(2 * SIMD_WIDTH), aligned(4)));
typedef int32_t simd_i32 __attribute__((vector_size(4 * SIMD_WIDTH), aligned(4)));
typedef double simd_f64 __attribute__((vector_size(4 * SIMD_WIDTH), aligned(8)));
typedef uint32_t simd_u32 __attribute__((vector_size(4 * SIMD_WIDTH), aligned(4)));
typedef uint16_t simd_u16 __attribute__((vector_size(2 * SIMD_WIDTH), aligned(2)));

/* Vectors go by pointer: by value they would be another ABI on every CPU. */
#define SIMD_INLINE static inline __attribute__((always_inline, unused))

/* A register of bf16 as f32.  gcc 12 upcasts halves of a vector one by one where it is not told otherwise. */
SIMD_INLINE void simd_load_bf16(const uint16_t *x, simd_f32 *ret)
{
#if defined(__AVX512BF16__)
    const __m512i words = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)x));
    *ret = (simd_f32)_mm512_slli_epi32(words, 16);
#elif defined(SIMD_SVE512)
    *ret = (simd_f32)((simd_u32)svld1uh_u32(svptrue_b32(), x) << 16);
#else
    *ret = (simd_f32)(__builtin_convertvector(*(const simd_u16 *)x, simd_u32) << 16);
#endif
}

/* And back, rounded to nearest, ties to even, NaNs quiet: tutti_to_bf16.  AVX-512's instruction for it makes
 * subnormal numbers 0, so these go another way: no level changes a bit. */
SIMD_INLINE void simd_store_bf16(const simd_f32 *x, uint16_t *to)
{
#if defined(__AVX512BF16__)
    enum { SUBNORMAL = 0x20 };
    const __m512 v = (__m512)*x;
    if (__builtin_expect(_mm512_fpclass_ps_mask(v, SUBNORMAL) == 0, 1)) {
        _mm256_storeu_si256((__m256i *)to, (__m256i)_mm512_cvtneps_pbh(v));
        return;
    }
#elif defined(__ARM_FEATURE_BF16_VECTOR_ARITHMETIC)
    vst1_bf16((bfloat16_t *)to, vcvt_bf16_f32((float32x4_t)*x));
    return;
#endif
    const simd_u32 bits = (simd_u32)*x;
    const simd_u32 nan = (simd_u32)((bits & 0x7FFFFFFFu) > 0x7F800000u);
    const simd_u32 rounded = bits + 0x7FFFu + (bits >> 16 & 1u);
    const simd_u32 kept = (rounded & ~nan) | ((bits | 0x400000u) & nan);
#if defined(SIMD_SVE512)
    svst1h_u32(svptrue_b32(), to, kept >> 16);
#else
    *(simd_u16 *)to = __builtin_convertvector(kept >> 16, simd_u16);
#endif
}

/* Likewise, by AVX-512's instruction alone where there is one: for kernels of vdpbf16ps, which takes subnormal numbers
 * for 0 and gives none. */
SIMD_INLINE void simd_store_bf16_flush(const simd_f32 *x, uint16_t *to)
{
#if defined(__AVX512BF16__)
    _mm256_storeu_si256((__m256i *)to, (__m256i)_mm512_cvtneps_pbh((__m512)*x));
#else
    simd_store_bf16(x, to);
#endif
}

/* A register as f64.  gcc 12 and clang 14 convert the halves of SVE's one by one where they are not told otherwise. */
SIMD_INLINE void simd_to_f64(const simd_f32 *v, simd_f64 ret[2])
{
#if defined(SIMD_SVE512)
    const svuint32_t bits = svreinterpret_u32_f32(*v);
    const svbool_t all = svptrue_b64();
    ret[0] = svcvt_f64_f32_x(all, svreinterpret_f32_u64(svunpklo_u64(bits)));
    ret[1] = svcvt_f64_f32_x(all, svreinterpret_f32_u64(svunpkhi_u64(bits)));
#else
    const simd_f32_half *half = (const simd_f32_half *)v;
    ret[0] = __builtin_convertvector(half[0], simd_f64);
    ret[1] = __builtin_convertvector(half[1], simd_f64);
#endif
}

/* Likewise all lanes. */
SIMD_INLINE void simd_lanes_to_f64(const f32x16 *v, f64x8 ret[2])
{
#if defined(SIMD_SVE512)
    simd_to_f64(v, ret);
#else
    const f32x8 *half = (const f32x8 *)v;
    ret[0] = __builtin_convertvector(half[0], f64x8);
    ret[1] = __builtin_convertvector(half[1], f64x8);
#endif
}

/* The sum of all lanes. */
SIMD_INLINE double simd_sum(const f32x16 *v)
{
    f64x8 half[2];
    simd_lanes_to_f64(v, half);
    const f64x8 d = half[0] + half[1];
    const f64x4 *quarter = (const f64x4 *)&d;
    const f64x4 q = quarter[0] + quarter[1];
    const f64x2 *pair = (const f64x2 *)&q;
    const f64x2 p = pair[0] + pair[1];
    return p[0] + p[1];
}

/* sum[k] += lane k of v */
SIMD_INLINE void simd_add_to(double *sum, const f32x16 *v)
{
    f64x8 half[2];
    simd_lanes_to_f64(v, half);
    *(f64x8 *)sum += half[0];
    *(f64x8 *)(sum + SIMD_LANES_F64) += half[1];
}

/* The first n numbers at x, n below 16; `rest` behind them. */
SIMD_INLINE void simd_load_some(const float *x, int64_t n, float rest, f32x16 *ret)
{
    float v[SIMD_LANES];
    for (int64_t k = 0; k < SIMD_LANES; k++)
        v[k] = k < n ? x[k] : rest;
    *ret = *(const f32x16 *)v;
}

/* The largest of `most` and the n numbers at x; NaNs are passed over.  clang 14 finds no maximum in a loop. */
SIMD_INLINE float simd_max(const float *x, int64_t n, float most)
{
    int64_t i = 0;
#if defined(__clang__)
    f32x16 all[4];
    for (int k = 0; k < 4; k++)
        all[k] = (f32x16){0} + most;
    for (; i + 4 * SIMD_LANES <= n; i += 4 * SIMD_LANES)
        for (int k = 0; k < 4; k++) {
            const f32x16 v = *(const f32x16 *)(x + i + k * SIMD_LANES);
            const i32x16 larger = v > all[k];
            all[k] = (f32x16)(((i32x16)v & larger) | ((i32x16)all[k] & ~larger));
        }
    for (int k = 0; k < 4 * SIMD_LANES; k++)
        most = all[k / SIMD_LANES][k % SIMD_LANES] > most ? all[k / SIMD_LANES][k % SIMD_LANES]
                                                          : most;
#endif
    _Pragma("omp simd reduction(max : most)") for (int64_t j = i; j < n; j++)
    {
        most = x[j] > most ? x[j] : most;
    }
    return most;
}

#define SIMD_SHUFFLE __builtin_shufflevector

#endif
