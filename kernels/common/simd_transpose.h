/* simd_transpose.h - 8 x 8 words transposed in registers. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_COMMON_SIMD_TRANSPOSE_H
#define KERNELS_COMMON_SIMD_TRANSPOSE_H

#include "common/simd.h"

/* to[j * to_row + i] = lane j of x[i]: words as they are, x is used up. */
SIMD_INLINE void simd_transpose_8x8(f32x8 x[8], float *to, int64_t to_row)
{
    f32x8 y[8];
    for (int i = 0; i < 8; i += 2) {
        y[i] = SIMD_SHUFFLE(x[i], x[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
        y[i + 1] = SIMD_SHUFFLE(x[i], x[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
    }
    for (int i = 0; i < 8; i += 4) {
        x[i] = SIMD_SHUFFLE(y[i], y[i + 2], 0, 1, 8, 9, 4, 5, 12, 13);
        x[i + 1] = SIMD_SHUFFLE(y[i], y[i + 2], 2, 3, 10, 11, 6, 7, 14, 15);
        x[i + 2] = SIMD_SHUFFLE(y[i + 1], y[i + 3], 0, 1, 8, 9, 4, 5, 12, 13);
        x[i + 3] = SIMD_SHUFFLE(y[i + 1], y[i + 3], 2, 3, 10, 11, 6, 7, 14, 15);
    }
    for (int i = 0; i < 4; i++) {
        *(f32x8 *)(to + i * to_row) = SIMD_SHUFFLE(x[i], x[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
        *(f32x8 *)(to + (i + 4) * to_row) =
            SIMD_SHUFFLE(x[i], x[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
    }
}

#endif
