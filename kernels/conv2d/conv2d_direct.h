/* conv2d_direct.h - convolutions by AMX's tile registers without copies for each tap: the loops. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_CONV2D_CONV2D_DIRECT_H
#define KERNELS_CONV2D_CONV2D_DIRECT_H

#include "tutti/isa.h"

#include <stdint.h>

enum {
    DIRECT_TILE = 32,   /* sums in registers: so many rows and columns, or half of either */
    DIRECT_LANES = 16,  /* words of a line: 64 bytes */
    DIRECT_CHUNK = 512, /* words of 32 channels of the filters of 32 outputs */
};

/* Images of channels, F32 or BF16, by pixel numbers (-1: zeros). */
typedef struct direct_images {
    const void *data;
    const int64_t *pixel;
    int64_t channels;
    int32_t dtype, reserved;
} direct_images;

/* What a tile of results is made of: sums over `count` chunks of 32 channels.  Those of x lie at a + from[k], a line a
 * position; those of the filters one after the other, 16 words by 32 columns (16 in a last half panel). */
typedef struct direct_sums {
    int64_t count;
    const int64_t *from;
    const float *a, *b;
} direct_sums;

typedef struct conv2d_direct_loops {
    int32_t units, reserved; /* 1: by tile registers; 0: by a model of them, for tests */
    /* Lines of `count` positions from channel c on: 32 channels in bf16. */
    void (*lines)(const direct_images *x, int64_t c, int64_t count, float *to);
    /* Lines of 16 channels: pairs of bf16 of a position and the one behind it. */
    void (*pairs)(const direct_images *x, int64_t c, int64_t count, float *to);
    /* For every 32 positions 16 lines, one a channel: pairs of bf16 of positions 2 k and 2 k + 1. */
    void (*transposed)(const direct_images *x, int64_t c, int64_t count, float *to);
    /* A chunk: 32 rows of w along the sum, row apart and `col` the columns, of which there are 32 or 16. */
    void (*filter)(const void *w, int32_t dtype, int64_t row, int64_t col, int64_t cols,
                   float *to);
    /* Around what a thread does with the next two. */
    void (*enter)(void);
    void (*leave)(void);
    /* y = sums + bias (NULL: none) of 32 positions and channels [c, c + 32), or 16 of them where there are no more. */
    void (*results)(const direct_sums *s, int64_t c, const float *bias, const direct_images *y,
                    void *data);
    /* sum (16 or 32 rows, 16 or 32 columns) = 0 with `start`, + transposed lines d, and those behind them, times pairs v,
     * and those behind them (NULL: none), over `steps` times 32 positions. */
    void (*add)(int64_t steps, const float *d, const float *d2, const float *v, const float *v2,
                int start, float *sum, int64_t sum_row);
} conv2d_direct_loops;

extern const conv2d_direct_loops conv2d_direct;
TUTTI_ISA_VARIANTS(conv2d_direct);

#endif
