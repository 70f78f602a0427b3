/* columns.h - rows of channels seen by a grid: which thread takes which; for C and for device code. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_COMMON_CUDA_COLUMNS_H
#define KERNELS_COMMON_CUDA_COLUMNS_H

#include <stdint.h>

/* Neighbouring threads take `width` neighbouring columns each, so that loads are whole; `across` of them
 * stand side by side, `down` such lines below each other in a block.  A grid is `chunks` blocks across
 * and `parts` down, which take rows in turn.  A block is no wider than a warp: more lines are joined in
 * it, so that there are fewer partial sums. */
typedef struct cuda_columns {
    int64_t rows, columns;
    int32_t width; /* 8, or 1 where the columns are no multiple of 8 */
    int32_t across, down;
    int32_t chunks, parts;
    int32_t reserved;
} cuda_columns;

enum {
    CUDA_COLUMNS_BLOCK = 256,
    CUDA_COLUMNS_ACROSS = 32,
    CUDA_COLUMNS_LEAST = 4,
    CUDA_FINISH_COLUMNS =
        8 /* a block of cuda_column_finish: sectors of 32 bytes are read whole */
};

/* `fill` blocks for each multiprocessor at most, and CUDA_COLUMNS_LEAST rows for a thread where there
 * are so many; at least one block. */
static inline cuda_columns cuda_columns_of(int64_t rows, int64_t columns,
                                           int32_t multiprocessors, int32_t fill)
{
    const int32_t width = columns % 8 == 0 ? 8 : 1;
    const int64_t units = columns / width, block = CUDA_COLUMNS_BLOCK;
    const int64_t chunks = units ? (units + CUDA_COLUMNS_ACROSS - 1) / CUDA_COLUMNS_ACROSS : 1;
    const int64_t across = units ? (units + chunks - 1) / chunks : 1, down = block / across;
    const int64_t want = (rows + down * CUDA_COLUMNS_LEAST - 1) / (down * CUDA_COLUMNS_LEAST);
    const int64_t most = (int64_t)multiprocessors * fill / chunks;
    const int64_t some = want < most ? want : most, parts = some < 1 ? 1 : some;
    const cuda_columns g = {rows,          columns,         width,          (int32_t)across,
                            (int32_t)down, (int32_t)chunks, (int32_t)parts, 0};
    return g;
}

/* Bytes of the partial sums of cuda_column_sums: two numbers for each part and column. */
static inline uint64_t cuda_columns_scratch(const cuda_columns *g)
{
    return ((uint64_t)g->parts * 2 * (uint64_t)g->columns * sizeof(float) + 63) / 64 * 64;
}

/* Blocks of cuda_column_finish. */
static inline uint32_t cuda_finish_blocks(int64_t columns)
{
    return (uint32_t)((columns + CUDA_FINISH_COLUMNS - 1) / CUDA_FINISH_COLUMNS);
}

#endif
