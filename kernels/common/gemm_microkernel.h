/* gemm_microkernel.h - what a GEMM micro-kernel is: how panels are packed, and the tiles of y that it keeps in registers. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_COMMON_GEMM_MICROKERNEL_H
#define KERNELS_COMMON_GEMM_MICROKERNEL_H

#include "tutti/isa.h"
#include "tutti/tensor.h"

#include <stdint.h>

/* Packed numbers are words of 32 bits: an f32, or a pair of bf16 or f16 that are neighbours along K.  a's panel holds some
 * rows of a: for each word of k `panel` words, of which so many are used, in an order of the micro-kernel.  b's panel holds `cols` columns of b: for
 * each word of k so many words, anything finite beyond N.  A pair beyond K has zeros. */
enum { GEMM_A = 16, GEMM_MAX_ROWS = 32, GEMM_MAX_COLS = 32 };

/* Rows by `cols` of y = start, or y if that is NULL, + panel of a times panel of b, for so many words of k. */
typedef void gemm_tile(int64_t words, const float *a, const float *b, const float *start,
                       float *y, int64_t y_row);

/* m(i, j) = data[i * row + j * col], one of them being 1. */
typedef struct gemm_matrix {
    const void *data;
    int64_t row, col;
    int32_t dtype; /* F32; also that of the factors of the micro-kernel */
    int32_t reserved;
} gemm_matrix;

/* Bytes of a number of a matrix. */
static inline int64_t gemm_number_bytes(int32_t dtype)
{
    return dtype == TUTTI_BF16 || dtype == TUTTI_F16 ? 2 : 4;
}

/* `rows` rows by k of a in panels of `high`, one after the other. */
typedef void gemm_pack_a(int64_t high, int64_t rows, int64_t k, const gemm_matrix *a,
                         float *to);
/* k by `cols` columns of b in panels of `wide`. */
typedef void gemm_pack_b(int64_t wide, int64_t k, int64_t cols, const gemm_matrix *b,
                         float *to);

/* What suits the registers of an instruction set. */
typedef struct gemm_microkernel {
    int64_t rows, cols;     /* the largest tile; 0: this level has none */
    int64_t step;           /* panels of a have multiples of so many rows */
    int64_t panel;          /* words of a's panel for one of k */
    int64_t deep;           /* numbers of k in a word */
    int64_t grain;          /* words come in multiples of this */
    int64_t words;          /* so many at a time leave a panel of a in the first cache */
    gemm_tile *const *tile; /* [r]: r rows */
    gemm_pack_a *pack_a;
    gemm_pack_b *pack_b;
    void (*enter)(
        void); /* a thread calls it before its tiles, and `leave` behind them; or NULL */
    void (*leave)(void);
} gemm_microkernel;

/* f32 factors; and factors that are bf16, or f16, or are rounded to it, whose products are summed up in f32. */
extern const gemm_microkernel gemm_microkernel_f32, gemm_microkernel_bf16, gemm_microkernel_f16;
TUTTI_ISA_VARIANTS(gemm_microkernel_f32);
TUTTI_ISA_VARIANTS(gemm_microkernel_bf16);
TUTTI_ISA_VARIANTS(gemm_microkernel_f16);

/* Those that this CPU has for factors of BF16, of F16, or else of F32, the best ones first; NULL behind the last. */
const gemm_microkernel *gemm_microkernel_at(int32_t factor, int k);

/* For sources of micro-kernels: tiles[r], a gemm_tile of r rows by `tile` with that constant, for every M(r) of
 * EACH(M). */
#define GEMM_TILE(rows)                                                                        \
    static void tile_##rows(int64_t words, const float *a, const float *b, const float *start, \
                            float *y, int64_t y_row)                                           \
    {                                                                                          \
        tile(rows, words, a, b, start, y, y_row);                                              \
    }
#define GEMM_TILE_AT(rows) [rows] = tile_##rows,
#define GEMM_TILES(EACH)                                                                       \
    EACH(GEMM_TILE)                                                                            \
    static gemm_tile *const tiles[] = {EACH(GEMM_TILE_AT)}

#endif
