/* conv2d_positions.h - the pixels of a convolution in rows where the same distance leads from each to those that a tap reads. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_CONV2D_CONV2D_POSITIONS_H
#define KERNELS_CONV2D_CONV2D_POSITIONS_H

#include <stdint.h>

/* Positions of a block are counted row by row, image by image: result (i, j) is at i * pitch + j of its image, and some
 * positions have none.  With strides, what is read is taken apart into sh * sw phases, each an image of its own:
 * element (i, j) of phase (r, s) is pixel (i sh + r - ph, j sw + s - pw), a zero outside.  Tap (u, v) of the result
 * at a position reads its phase at the position plus positions_offset: no copy for each tap is made. */
typedef struct conv2d_positions {
    int64_t images, h, w; /* that are read */
    int64_t oh, ow;       /* results of an image */
    int64_t kh, kw, sh, sw, ph, pw, dh, dw;
    /* images that are written: result (i, j) of phase (r, s) is pixel (i * step_h + r, j * step_w + s), if there is one;
     * 0: these are (oh, ow), with steps of 1 */
    int64_t to_h, to_w, step_h, step_w;
    /* what positions_plan makes of it */
    int64_t pitch, high; /* positions of a row; rows of an image in a block */
    int64_t rows, some;  /* rows of results, and images, of a block */
    int64_t parts;       /* blocks of an image, 1 where a block has several */
    int64_t blocks;
    int64_t results; /* positions of a block up to its last result, a multiple of 32 */
    int64_t count;   /* positions of a phase that are read for these */
} conv2d_positions;

enum { POSITIONS_STEP = 32 };

/* About `most` positions a block, and at least so many blocks, if there are rows for that. */
void positions_plan(conv2d_positions *p, int64_t most, int64_t least_blocks);

int64_t positions_phase(const conv2d_positions *p, int64_t u, int64_t v); /* r * sw + s */
int64_t positions_offset(const conv2d_positions *p, int64_t u, int64_t v);

/* The pixel, counted over all images, of each position of a phase; -1: a zero.  `count` numbers and another -1. */
void positions_read(const conv2d_positions *p, int64_t block, int64_t phase, int64_t *pixel);
/* The pixel of each position's result; -1: none.  `phase` is r * step_w + s.  `results` numbers. */
void positions_written(const conv2d_positions *p, int64_t block, int64_t phase, int64_t *pixel);

#endif
