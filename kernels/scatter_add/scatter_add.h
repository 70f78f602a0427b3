/* scatter_add.h - how the GPU adds slices: entries sorted by row, then sums of pieces of that list. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_SCATTER_ADD_H
#define KERNELS_SCATTER_ADD_H

#include <stdint.h>

enum {
    SCATTER_DIGITS = 256, /* of a pass of the sort; as many as a block has threads */
    SCATTER_BITS = 8,
    SCATTER_TILES = 128, /* blocks that sort, at most */
    SCATTER_PIECE = 32   /* entries that a thread adds up */
};

/* The entries of the index and their rows; row n is that of entries out of range.  `tile` is a
 * multiple of SCATTER_DIGITS. */
typedef struct scatter_sort {
    int64_t n, count;
    int64_t tile, tiles;
    int64_t shift; /* of this pass's digit */
} scatter_sort;

typedef struct scatter_shape {
    int64_t outer, n, inner, count;
    int64_t pieces;
    int64_t width; /* elements of a thread: 8 where rows are multiples of that, else 1 */
} scatter_shape;

#endif
