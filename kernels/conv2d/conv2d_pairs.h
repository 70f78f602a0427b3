/* conv2d_pairs.h - sums over pixels with products of bf16: words of pairs of pixels, for gradients of weights. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_CONV2D_CONV2D_PAIRS_H
#define KERNELS_CONV2D_CONV2D_PAIRS_H

#include "tutti/isa.h"

#include <stdint.h>

/* Words are pairs of bf16 of pixels 2 k and 2 k + 1, in panels of so many channels; the last panel has 16 where
 * channels are an odd number of sixteens.  Panel p, pair k, channel i lie at p * most / 2 * columns +
 * k * width of the panel + i, where `most` pixels have room, an even number. */
enum { PAIRS_LANES = 16, PAIRS_X = 32, PAIRS_DY = 16 };

/* Pixels of images (B, h, w, c), F32 or BF16: row r and column j of a grid of `high` x `wide` an image are pixel
 * (r % high * sh + top, j * sw + left), zeros outside. */
typedef struct pairs_images {
    int32_t dtype, reserved;
    int64_t h, w, c;
    int64_t high, wide;
    int64_t sh, sw, top, left;
} pairs_images;

typedef struct conv2d_pairs_loops {
    /* Rows [row, row + 2), below `end`, of the block of rows that begins at `first`; rows are counted over all
     * images.  A last pixel without another has a zero beside it. */
    void (*pack)(const pairs_images *x, int64_t first, int64_t row, int64_t end, int64_t most,
                 int64_t columns, const void *data, float *to);
    /* sum(o, c) = sum(o, c), 0 at `start`, + sum over pairs of d(., o) v(., c): for all o and the columns of the
     * panel at c.  Rows of sum are sum_row apart. */
    void (*sums)(int64_t words, int64_t most, int64_t c, int64_t c_count, int64_t o_count,
                 const float *d, const float *v, int start, float *sum, int64_t sum_row);
} conv2d_pairs_loops;

/* Where the CPU lacks vdpbf16ps, scalar products take its place: for tests. */
extern const conv2d_pairs_loops conv2d_pairs;
TUTTI_ISA_VARIANTS(conv2d_pairs);

#endif
