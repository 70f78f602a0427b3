/* numbers.h - numbers as F32 and rounded to BF16 or F16, and how far sums of their products may be off. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_ISA_NUMBERS_H
#define TESTS_ISA_NUMBERS_H

#include "tutti/half.h"
#include "tutti/tensor.h"
#include "tutti_check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A matrix or vector of numbers between -1 and 1, as F32 and, rounded, as `dtype`: BF16 or F16. */
typedef struct numbers {
    float *f32, *rounded;
    uint16_t *half;
    int32_t dtype, reserved;
} numbers;

static inline float number_of_bf16(uint16_t h)
{
    const uint32_t bits = (uint32_t)h << 16;
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* By the definition of binary16. */
static inline float number_of_f16(uint16_t h)
{
    const int e = h >> 10 & 31, m = h & 1023;
    const float size =
        e == 31 ? (m ? NAN : INFINITY) : ldexpf((float)(e ? 1024 + m : m), (e ? e : 1) - 25);
    return h & 0x8000 ? -size : size;
}

static inline float number_of_half(uint16_t h, int32_t dtype)
{
    return dtype == TUTTI_F16 ? number_of_f16(h) : number_of_bf16(h);
}

/* Of F16 every seventh is so small that it is a subnormal number. */
static inline numbers numbers_make_as(int64_t n, uint32_t seed, int32_t dtype)
{
    numbers x = {calloc((size_t)n, 4), calloc((size_t)n, 4), calloc((size_t)n, 2), dtype, 0};
    ck_assert(x.f32 && x.rounded && x.half);
    for (int64_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        x.f32[i] = (float)((int32_t)seed >> 8) * 0x1p-23f;
        if (dtype == TUTTI_F16 && i % 7 == 3)
            x.f32[i] *= 0x1p-16f;
        x.half[i] = tutti_to_half(x.f32[i], dtype);
        x.rounded[i] = number_of_half(x.half[i], dtype);
    }
    return x;
}

static inline numbers numbers_make(int64_t n, uint32_t seed)
{
    return numbers_make_as(n, seed, TUTTI_BF16);
}

static inline void numbers_free(numbers *x)
{
    free(x->f32), free(x->rounded), free(x->half);
}

static inline const void *numbers_as(const numbers *x, int32_t dtype)
{
    return dtype == x->dtype ? (const void *)x->half : x->f32;
}

/* Products of bf16, and of f16, are exact in f32, so that errors are those of K additions. */
static inline double bound_of(int64_t k, double size)
{
    return (double)(k + 2) * 0x1p-24 * size + 1e-30;
}

/* As ck_assert_close, which tells its parent of every number. */
static inline void number_is_close(double got, double want, double bound)
{
    if (!(fabs(got - want) <= bound))
        ck_assert_close(got, want, bound);
}

#endif
