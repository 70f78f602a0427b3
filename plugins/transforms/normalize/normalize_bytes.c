/* normalize_bytes.c - images of bytes become scaled floats, once per instruction set. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "normalize_bytes.h"

enum { BLOCK = 48 };

/* Numbers of channels that divide BLOCK (1, 2, 3, 4 and others) repeat within it, so that a block is
 * one run of the same operations. */
void normalize_bytes(const uint8_t *restrict x, float *restrict y, int64_t values, uint32_t n,
                     const float *scale, const float *shift)
{
    float a[BLOCK], b[BLOCK];
    int64_t i = 0;
    for (uint32_t k = 0; k < BLOCK; k++) {
        a[k] = scale[k % n];
        b[k] = shift[k % n];
    }
    for (; BLOCK % n == 0 && i + BLOCK <= values; i += BLOCK)
        for (int k = 0; k < BLOCK; k++)
            y[i + k] = a[k] * (float)x[i + k] + b[k];
    for (; i < values; i++)
        y[i] = scale[i % n] * (float)x[i] + shift[i % n];
}
