/* numbers.h - numbers as F32 and rounded to BF16, and how far sums of their products may be off. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_ISA_NUMBERS_H
#define TESTS_ISA_NUMBERS_H

#include "tutti/half.h"
#include "tutti/tensor.h"
#include "tutti_check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A matrix or vector of numbers between -1 and 1, as F32 and, rounded, as BF16. */
typedef struct numbers {
    float *f32, *rounded;
    uint16_t *bf16;
} numbers;

static inline float number_of_bf16(uint16_t h)
{
    const uint32_t bits = (uint32_t)h << 16;
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline numbers numbers_make(int64_t n, uint32_t seed)
{
    numbers x = {calloc((size_t)n, 4), calloc((size_t)n, 4), calloc((size_t)n, 2)};
    ck_assert(x.f32 && x.rounded && x.bf16);
    for (int64_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        x.f32[i] = (float)((int32_t)seed >> 8) * 0x1p-23f;
        x.bf16[i] = tutti_to_bf16(x.f32[i]);
        x.rounded[i] = number_of_bf16(x.bf16[i]);
    }
    return x;
}

static inline void numbers_free(numbers *x)
{
    free(x->f32), free(x->rounded), free(x->bf16);
}

static inline const void *numbers_as(const numbers *x, int32_t dtype)
{
    return dtype == TUTTI_BF16 ? (const void *)x->bf16 : x->f32;
}

/* Products of bf16 are exact in f32, so that errors are those of K additions. */
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
