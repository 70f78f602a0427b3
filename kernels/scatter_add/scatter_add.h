/* scatter_add.h - how the GPU shares adding slices: a block has some rows of the axis. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_SCATTER_ADD_H
#define KERNELS_SCATTER_ADD_H

#include <stdint.h>

enum {
    SCATTER_ROWS = 64,  /* of a block, at most */
    SCATTER_LIST = 2048 /* entries that a block adds at a time */
};

typedef struct scatter_shape {
    int64_t outer;
    int64_t n; /* rows */
    int64_t inner;
    int64_t count;  /* entries of the index */
    int32_t rows;   /* of a block */
    int32_t across; /* threads along inner, a power of two */
} scatter_shape;

#endif
