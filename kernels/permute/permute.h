/* permute.h - axes exchanged on the GPU in square tiles. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_PERMUTE_H
#define KERNELS_PERMUTE_H

#include "common/cuda/index_iter.h"

enum { PERMUTE_TILE = 32 };

/* Matrices (rows, columns) whose rows lie side by side in x and whose columns do in the result. */
typedef struct permute_tiles {
    cuda_index_iter matrices; /* operands 0 and 1: where each begins in x and in the result */
    int64_t rows;
    int64_t columns;
    int64_t column_in_x; /* from one column to the next */
    int64_t row_in_y;    /* from one row to the next */
} permute_tiles;

#endif
