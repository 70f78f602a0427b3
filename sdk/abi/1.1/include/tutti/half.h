/* half.h - bf16 and f16 as bits, from f32: rounded to nearest, ties to even. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TUTTI_HALF_H
#define TUTTI_HALF_H

#include "rng.h" /* TUTTI_HD */
#include "tensor.h"

#include <string.h>

/* Without branches and always inlined, so that a loop over them can be vector code. */
#define TUTTI_HALF TUTTI_HD __attribute__((always_inline))

TUTTI_HALF uint32_t tutti_f32_bits(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

TUTTI_HALF uint16_t tutti_to_bf16(float x)
{
    const uint32_t bits = tutti_f32_bits(x);
    const uint32_t rounded = bits + 0x7FFFu + (bits >> 16 & 1u);
    return (uint16_t)(x != x ? bits >> 16 | 0x40u : rounded >> 16);
}

TUTTI_HALF uint16_t tutti_to_f16(float x)
{
    const uint32_t bits = tutti_f32_bits(x), rest = bits & 0x7FFFFFFFu;
    const uint32_t sign = bits >> 16 & 0x8000u;
    float size;
    memcpy(&size, &rest, sizeof size);
    /* below 2^-14: adding 0.5 leaves multiples of 2^-24, f16's smallest, in the low bits */
    const uint32_t small = tutti_f32_bits(size + 0.5f) - 0x3F000000u;
    const uint32_t normal = (rest - 0x38000000u + 0xFFFu + (rest >> 13 & 1u)) >> 13;
    const uint32_t finite = rest < 0x38800000u ? small : normal;
    const uint32_t kept = rest >= 0x477FF000u ? 0x7C00u : finite; /* 65520 and up: infinity */
    return (uint16_t)((rest > 0x7F800000u ? 0x7E00u : kept) | sign);
}

/* `dtype` is TUTTI_BF16 or TUTTI_F16. */
TUTTI_HALF uint16_t tutti_to_half(float x, int32_t dtype)
{
    return dtype == TUTTI_BF16 ? tutti_to_bf16(x) : tutti_to_f16(x);
}

#endif
