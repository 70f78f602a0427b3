/* bfmmla.h - ARM's bfmmla: 2 x 2 sums in f32 of products of 2 x 4 by 4 x 2 numbers in bf16. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_COMMON_BFMMLA_H
#define KERNELS_COMMON_BFMMLA_H

#include "common/half.h"

#include <stdint.h>
#include <string.h>

/* BFMMLA_HERE: this translation unit has the instruction, or with BFMMLA_MODEL a model of it in C, for tests of what
 * is around it on a CPU without. */
#if defined(__ARM_FEATURE_BF16_VECTOR_ARITHMETIC) || defined(BFMMLA_MODEL)
#define BFMMLA_HERE 1
#endif

typedef float f32x4 __attribute__((vector_size(16), aligned(4), may_alias));

/* BFMMLA(sums, a, b): sums (2, 2) += a (2, 4) b' (2, 4), each a register, row by row. */
#if defined(BFMMLA_MODEL)
static inline void bfmmla_model(f32x4 *sums, const f32x4 *a, const f32x4 *b)
{
    uint16_t x[2][4], y[2][4];
    memcpy(x, a, sizeof x);
    memcpy(y, b, sizeof y);
    for (int r = 0; r < 2; r++)
        for (int c = 0; c < 2; c++)
            for (int k = 0; k < 4; k++)
                (*sums)[2 * r + c] += half_from_bf16(x[r][k]) * half_from_bf16(y[c][k]);
}
#define BFMMLA(sums, a, b) bfmmla_model(&(sums), &(a), &(b))
#elif defined(BFMMLA_HERE)
#include <arm_neon.h>
#define BFMMLA(sums, a, b)                                                                     \
    ((sums) = (f32x4)vbfmmlaq_f32((float32x4_t)(sums), (bfloat16x8_t)(a), (bfloat16x8_t)(b)))
#endif

#endif
