/* float8.h - 8-bit floats as bits, from f32 and to it: E4M3 and E5M2 of the OCP 8-bit floating point specification. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TUTTI_FLOAT8_H
#define TUTTI_FLOAT8_H

#include "half.h"

/* E4M3 (TUTTI_F8_E4M3): 448 is the largest, 2^-9 the smallest; there is no infinity, and all bits set are NaN.
 * E5M2 (TUTTI_F8_E5M2): 57344 is the largest, 2^-16 the smallest, with infinities and NaNs as f16 has them.
 * Rounded to nearest, ties to even.  What is too large, infinity too, becomes the largest in E4M3, as GPUs convert
 * and torch 2.15 does, and infinity in E5M2.  NaN stays NaN.  [any]  Since 1.0. */
TUTTI_HALF uint8_t tutti_to_f8_e4m3(float x)
{
    const uint32_t bits = tutti_f32_bits(x), rest = bits & 0x7FFFFFFFu;
    const uint32_t sign = bits >> 24 & 0x80u;
    float size;
    memcpy(&size, &rest, sizeof size);
    /* below 2^-6: adding 2^14 leaves multiples of 2^-9, the smallest, in the low bits */
    const uint32_t small = tutti_f32_bits(size + 16384.0f) - 0x46800000u;
    const uint32_t normal = (rest - 0x3C000000u + 0x7FFFFu + (rest >> 20 & 1u)) >> 20;
    const uint32_t finite = rest < 0x3C800000u ? small : normal;
    const uint32_t kept = rest >= 0x43E00000u ? 0x7Eu : finite; /* 448 and up */
    return (uint8_t)((rest > 0x7F800000u ? 0x7Fu : kept) | sign);
}

TUTTI_HALF uint8_t tutti_to_f8_e5m2(float x)
{
    const uint32_t bits = tutti_f32_bits(x), rest = bits & 0x7FFFFFFFu;
    const uint32_t sign = bits >> 24 & 0x80u;
    float size;
    memcpy(&size, &rest, sizeof size);
    /* below 2^-14: adding 2^7 leaves multiples of 2^-16 in the low bits */
    const uint32_t small = tutti_f32_bits(size + 128.0f) - 0x43000000u;
    const uint32_t normal = (rest - 0x38000000u + 0xFFFFFu + (rest >> 21 & 1u)) >> 21;
    const uint32_t finite = rest < 0x38800000u ? small : normal;
    const uint32_t kept = rest >= 0x47700000u ? 0x7Cu : finite; /* 61440 and up: infinity */
    return (uint8_t)((rest > 0x7F800000u ? 0x7Fu : kept) | sign);
}

TUTTI_HALF float tutti_float_of(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Exact. */
TUTTI_HALF float tutti_from_f8_e4m3(uint8_t b)
{
    const uint32_t sign = (uint32_t)(b & 0x80u) << 24, body = (uint32_t)(b & 0x7Fu) << 20;
    const uint32_t finite =
        tutti_f32_bits(tutti_float_of(body) * 1.329227995784916e36f); /* 2^120 */
    return tutti_float_of((body == 0x07F00000u ? 0x7FC00000u : finite) | sign);
}

TUTTI_HALF float tutti_from_f8_e5m2(uint8_t b)
{
    const uint32_t sign = (uint32_t)(b & 0x80u) << 24, body = (uint32_t)(b & 0x7Fu) << 21;
    const uint32_t finite =
        tutti_f32_bits(tutti_float_of(body) * 5.192296858534828e33f); /* 2^112 */
    return tutti_float_of((body >= 0x0F800000u ? body | 0x7F800000u : finite) | sign);
}

/* `dtype` is TUTTI_F8_E4M3 or TUTTI_F8_E5M2. */
TUTTI_HALF uint8_t tutti_to_f8(float x, int32_t dtype)
{
    return dtype == TUTTI_F8_E4M3 ? tutti_to_f8_e4m3(x) : tutti_to_f8_e5m2(x);
}

TUTTI_HALF float tutti_from_f8(uint8_t b, int32_t dtype)
{
    return dtype == TUTTI_F8_E4M3 ? tutti_from_f8_e4m3(b) : tutti_from_f8_e5m2(b);
}

#endif
