/* half.h - bf16 and f16 as bits, to and from f32: rounded to nearest, ties to even. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_COMMON_HALF_H
#define KERNELS_COMMON_HALF_H

#include "common/fastmath.h"

FAST_HD float half_from_bf16(uint16_t h)
{
    return fast_from_bits((uint32_t)h << 16);
}

FAST_HD uint16_t half_to_bf16(float x)
{
    const uint32_t bits = fast_bits(x);
    const uint32_t rounded = bits + 0x7FFFu + (bits >> 16 & 1u);
    return (uint16_t)(x != x ? bits >> 16 | 0x40u : rounded >> 16);
}

/* Exponents are scaled by a product, which does subnormals too; infinity and NaN are set apart. */
FAST_HD float half_from_f16(uint16_t h)
{
    const uint32_t body = (uint32_t)(h & 0x7FFFu) << 13, sign = (uint32_t)(h & 0x8000u) << 16;
    const float scaled = fast_from_bits(body) * 5.192296858534828e33f; /* 2^112 */
    const uint32_t finite = fast_bits(scaled), special = body | 0x7F800000u;
    return fast_from_bits((body >= 0x0F800000u ? special : finite) | sign);
}

FAST_HD uint16_t half_to_f16(float x)
{
    const uint32_t bits = fast_bits(x), body = bits & 0x7FFFFFFFu;
    const uint16_t sign = (uint16_t)(bits >> 16 & 0x8000u);
    /* below 2^-14: adding 0.5 leaves multiples of 2^-24, f16's smallest, in the low bits */
    const uint32_t small = fast_bits(fast_from_bits(body) + 0.5f) - 0x3F000000u;
    const uint32_t normal = (body - 0x38000000u + 0xFFFu + (body >> 13 & 1u)) >> 13;
    const uint32_t finite = body < 0x38800000u ? small : normal;
    const uint32_t kept = body >= 0x477FF000u ? 0x7C00u : finite; /* 65520 and up: infinity */
    return (uint16_t)((body > 0x7F800000u ? 0x7E00u : kept) | sign);
}

#endif
