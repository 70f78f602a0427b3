/* half.h - bf16 and f16 as bits, to and from f32: rounded to nearest, ties to even. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_COMMON_HALF_H
#define KERNELS_COMMON_HALF_H

#include "common/fastmath.h"
#include "tutti/half.h"

FAST_HD float half_from_bf16(uint16_t h)
{
    return fast_from_bits((uint32_t)h << 16);
}

FAST_HD uint16_t half_to_bf16(float x)
{
    return tutti_to_bf16(x);
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
    return tutti_to_f16(x);
}

#endif
