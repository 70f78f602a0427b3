/* gemm_microkernel.h - the GEMM micro-kernel: packed panels, and tiles of y from them in registers. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_COMMON_GEMM_MICROKERNEL_H
#define KERNELS_COMMON_GEMM_MICROKERNEL_H

#include "tutti/isa.h"

#include <stdint.h>

/* a's panel holds some rows of a: for each k GEMM_A numbers, of which so many are used.  b's panel
 * holds `cols` columns of b: for each k so many numbers, anything finite beyond N. */
enum { GEMM_A = 16, GEMM_MAX_ROWS = 14, GEMM_MAX_COLS = 32 };

/* Rows by `cols` of y = start, or y if that is NULL, + panel of a times panel of b. */
typedef void gemm_tile(int64_t k, const float *a, const float *b, const float *start, float *y,
                       int64_t y_row);

/* `rows` rows by k of a in panels of `high`, one after the other. */
typedef void gemm_pack_a(int64_t high, int64_t rows, int64_t k, const float *a, int64_t a_row,
                         int64_t a_col, float *to);
/* k by `cols` columns of b in panels of `wide`. */
typedef void gemm_pack_b(int64_t wide, int64_t k, int64_t cols, const float *b, int64_t b_row,
                         int64_t b_col, float *to);

/* What suits the registers of an instruction set. */
typedef struct gemm_units {
    int64_t rows, cols;     /* the largest tile; 0: this level has none */
    gemm_tile *const *tile; /* [r]: r rows */
    gemm_pack_a *pack_a;
    gemm_pack_b *pack_b;
} gemm_units;

extern const gemm_units gemm_units_here;
TUTTI_ISA_VARIANTS(gemm_units_here);

/* Those that this CPU has, the best ones first; NULL behind the last. */
const gemm_units *gemm_units_at(int k);

#endif
