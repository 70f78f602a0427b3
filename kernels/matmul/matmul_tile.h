/* matmul_tile.h - the epilogues of a product by our tiles, which get each part as soon as it is there. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_MATMUL_MATMUL_TILE_H
#define KERNELS_MATMUL_MATMUL_TILE_H

#include "common/gemm.h"
#include "matmul/matmul.h"

/* The part lies in y: an activation over it. */
typedef struct tile_epilogue {
    matmul_epilogue epilogue;
    float *y;
    int64_t n;
    int64_t row; /* of y where the product begins */
} tile_epilogue;

static inline void apply_to_tile(const void *how, const gemm_part *part)
{
    const tile_epilogue *t = how;
    const int64_t row = t->row + part->row;
    for (int64_t i = row; i < row + part->rows; i++)
        TUTTI_ISA_PICK(matmul_epilogue_apply)
    (&t->epilogue, t->y, i * t->n + part->col, part->cols);
}

/* The same where the part is not in its place yet. */
typedef struct tile_store {
    matmul_store to;
    int64_t n, row;
} tile_store;

static inline void store_tile(const void *how, const gemm_part *part)
{
    const tile_store *t = how;
    const int64_t row = t->row + part->row;
    for (int64_t i = 0; i < part->rows; i++)
        TUTTI_ISA_PICK(matmul_store_row)
    (&t->to, part->values + i * part->values_row, (row + i) * t->n + part->col, part->cols);
}

#endif
