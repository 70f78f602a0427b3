/* dpbf16_model.h - AVX512_BF16 in C, included before a source of that level which is then compiled for AVX-512 alone: what is
 * around its instructions runs on CPUs without. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_ISA_DPBF16_MODEL_H
#define TESTS_ISA_DPBF16_MODEL_H

#include "tutti/half.h"

#include <immintrin.h>
#include <stdint.h>
#include <string.h>

#if defined(__AVX512F__) && !defined(__AVX512BF16__)
#define __AVX512BF16__ 1 /* NOLINT: as the compiler does for the level; its header is read */

/* The numbers of x, rounded, to `to`. */
static inline void dpbf16_model_round(uint16_t *to, __m512 x)
{
    float from[16];
    memcpy(from, &x, sizeof from);
    for (int i = 0; i < 16; i++)
        to[i] = tutti_to_bf16(from[i]);
}

static inline __m256i dpbf16_model_one(__m512 x)
{
    uint16_t to[16];
    __m256i y;
    dpbf16_model_round(to, x);
    memcpy(&y, to, sizeof y);
    return y;
}

static inline __m512i dpbf16_model_two(__m512 high, __m512 low)
{
    uint16_t to[32];
    __m512i y;
    dpbf16_model_round(to, low);
    dpbf16_model_round(to + 16, high);
    memcpy(&y, to, sizeof y);
    return y;
}

static inline float dpbf16_model_number(uint16_t x)
{
    const uint32_t bits = (uint32_t)x << 16;
    float y;
    memcpy(&y, &bits, sizeof y);
    return y;
}

/* vdpbf16ps: to each sum the products of two pairs. */
static inline __m512 dpbf16_model_dot(__m512 sums, __m512i a, __m512i b)
{
    float to[16];
    uint16_t x[32], y[32];
    memcpy(to, &sums, sizeof to);
    memcpy(x, &a, sizeof x);
    memcpy(y, &b, sizeof y);
    for (int i = 0; i < 32; i++)
        to[i / 2] += dpbf16_model_number(x[i]) * dpbf16_model_number(y[i]);
    memcpy(&sums, to, sizeof sums);
    return sums;
}

#define _mm512_cvtneps_pbh(x) dpbf16_model_one(x)                  /* NOLINT */
#define _mm512_cvtne2ps_pbh(high, low) dpbf16_model_two(high, low) /* NOLINT */
#define _mm512_dpbf16_ps(sums, a, b)                                                           \
    dpbf16_model_dot(sums, (__m512i)(a), (__m512i)(b)) /* NOLINT */
#endif

#endif
