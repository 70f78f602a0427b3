/* conv2d_winograd.h - Winograd's F(2 x 2, 3 x 3) with products of bf16: where transformed numbers lie, and the loops. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_CONV2D_CONV2D_WINOGRAD_H
#define KERNELS_CONV2D_CONV2D_WINOGRAD_H

#include "tutti/isa.h"

#include <stdint.h>

/* A tile is 2 x 2 pixels of y and reads a patch of 4 x 4 of x.  Its numbers are multiplied at 16 points, where x is
 * V = B^T x B, w is U = G w G^T, and y = A^T (U V) A, summed over channels; the weights' gradient is
 * G^T (V D) G with D = A dy A^T, summed over tiles:
 *   B^T = 1  0 -1  0    G =  1   0   0    A^T = 1  1  1  0
 *         0  1  1  0        1/2 1/2 1/2         0  1 -1  1
 *         0 -1  1  0        1/2 -1/2 1/2
 *         0 -1  0  1         0   0   1
 * Transforms are f32.  U, V and D are rounded to bf16, sums of products are f32.  Numbers of one point follow each
 * other; words are pairs of bf16, neighbours along the sum. */
enum {
    WINOGRAD_POINTS = 16,
    WINOGRAD_LANES = 16, /* channels come in blocks of so many */
    WINOGRAD_WORDS = 8,  /* of such a block */
    WINOGRAD_WIDE =
        32, /* columns of a panel; the last one has 16 where channels are an odd number of blocks */
};

/* Images that are read or written, F32 or BF16, and the tiles they are cut into. */
typedef struct winograd_images {
    int32_t dtype, reserved;
    int64_t h, w, c;
    int64_t top, left;  /* the first pixel of the first tile or patch: 0, or -padding */
    int64_t high, wide; /* tiles of an image */
} winograd_images;

/* Rows of tiles [first, first + rows), counted over all images, whose tiles are transformed together.  `most`
 * tiles have room, an even number. */
typedef struct winograd_block {
    int64_t first, rows, most;
} winograd_block;

typedef struct conv2d_winograd_loops {
    /* Words of U for outputs [o, o + 16) of w (O, 3, 3, C), `dtype`.  Point e lies at e * point in panels of
     * columns: of O with pairs along C; with `flipped` for dx, of C with pairs along O. */
    void (*filters)(const void *w, int32_t dtype, int64_t c_count, int64_t o_count, int64_t o,
                    int flipped, int64_t point, float *u);
    /* Words of V of a row of the block, pairs along channels: block of channels k, tile t, word i at
     * (k * most + t) * 8 + i. */
    void (*patches)(const winograd_images *x, const winograd_block *b, int64_t row,
                    const void *data, int64_t point, float *v);
    /* m (tiles, outs) = V U of one point; `ins` channels are summed. */
    void (*products)(int64_t tiles, int64_t most, int64_t ins, int64_t outs, const float *v,
                     const float *u, float *m);
    /* A row of the block of y = A^T m A + bias (NULL: none). */
    void (*results)(const winograd_images *y, const winograd_block *b, int64_t row,
                    const float *m, int64_t point, const float *bias, void *data);
    /* Words of V (`patch`) or D of rows [row, row + 2) of the block, pairs of tiles, in panels of `columns`
     * channels, as conv2d_pairs.h has them. */
    void (*pairs)(const winograd_images *x, const winograd_block *b, int64_t row, int patch,
                  int64_t columns, const void *data, int64_t point, float *v);
    /* dw of output o from the sums of all points. */
    void (*weights)(int64_t o, int64_t c_count, const float *sum, int64_t point, int32_t dtype,
                    void *dw);
} conv2d_winograd_loops;

/* Where the CPU lacks vdpbf16ps, scalar products take its place: for tests. */
extern const conv2d_winograd_loops conv2d_winograd;
TUTTI_ISA_VARIANTS(conv2d_winograd);

#endif
