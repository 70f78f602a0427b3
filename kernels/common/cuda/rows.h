/* rows.h - how many blocks go over rows, and which team takes one; with rows.cuh. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_COMMON_CUDA_ROWS_H
#define KERNELS_COMMON_CUDA_ROWS_H

#include "common/cuda/launch.h"

/* Whether a row of n is a whole block's. */
static inline int32_t cuda_row_is_whole(int64_t n)
{
    return n > 1024;
}

/* Blocks for rows that are a block's or a warp's each; at least 1. */
static inline uint32_t cuda_row_blocks(const tutti_cuda_v1 *cuda, int64_t rows, int32_t whole)
{
    return cuda_blocks(cuda, rows * (whole ? CUDA_BLOCK : 32));
}

#endif
