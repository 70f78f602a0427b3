/* gemm.h - one large product (GEMM) of f32 matrices, packed and divided over threads by ourselves. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_COMMON_GEMM_H
#define KERNELS_COMMON_GEMM_H

#include "tutti/tensor.h"

/* y (M, N) = a (M, K) b (K, N) + bias, then what `end` makes of it.  To use it: fill in the sizes with
 * the rest 0, call gemm_plan, keep the struct, and gemm_run with the scratch that the plan wants.
 * The same numbers in give the same bits, for one number of threads. */
typedef struct gemm {
    int64_t m, n, k;      /* none is 0 */
    int64_t a_row, a_col; /* a(i, j) = a[i * a_row + j * a_col]; one of them is 1 */
    int64_t b_row, b_col; /* so for b */
    int64_t y_row;        /* y(i, j) = y[i * y_row + j] */
    int32_t threads;
    int32_t division;               /* GEMM_ANY: gemm_plan's choice */
    const struct gemm_units *units; /* NULL: gemm_plan's choice, gemm_microkernel.h */
    int64_t depth;                  /* gemm_plan's: of K that is packed at a time */
    int64_t columns;                /* of b that lie packed at a time */
} gemm;

/* What the threads divide: rows of y; its columns; or K, whose partial sums are joined in order. */
enum { GEMM_ANY, GEMM_ROWS, GEMM_COLUMNS, GEMM_DEPTH, GEMM_DIVISIONS };

/* Called by one thread for rows [row, row + rows) and columns [col, col + cols) of y as soon as they
 * are complete; every element is in one call. */
typedef void gemm_epilogue(const void *how, int64_t row, int64_t rows, int64_t col,
                           int64_t cols);

typedef struct gemm_data {
    const float *a, *b;
    const float *bias; /* (N) or NULL */
    float *y;
    gemm_epilogue *end; /* or NULL */
    const void *how;
} gemm_data;

/* E_UNSUPPORTED on a CPU without AVX2 and FMA.  [control] */
tutti_status gemm_plan(gemm *p, uint64_t *ret_scratch);

/* `scratch` is 64-byte aligned; y overlaps with nothing.  Allocates nothing.  [step] */
void gemm_run(const gemm *p, const gemm_data *d, void *scratch);

#endif
