/* matmul_mask.h - where a product's results are positive: one bit each, rows of whole 128 bits. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_MATMUL_MATMUL_MASK_H
#define KERNELS_MATMUL_MATMUL_MASK_H

#include <stdint.h>

/* Bytes of a row of n bits, as cuBLASLt wants them; bit j is bit j % 8 of byte j / 8.  Those behind the n-th
 * mean nothing. */
static inline int64_t matmul_mask_bytes(int64_t n)
{
    return (n + 127) / 128 * 16;
}

/* Bits first to first + 7 of a row of n results. */
static inline unsigned char matmul_mask_byte(const float *row, int64_t first, int64_t n)
{
    unsigned bits = 0;
    for (int64_t j = first; j < first + 8 && j < n; j++)
        bits |= (unsigned)(row[j] > 0.0f) << (j - first);
    return (unsigned char)bits;
}

#endif
