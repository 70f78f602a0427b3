/* gemm.h - a large GEMM (matrix product) with an epilogue, packed and divided over threads. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_COMMON_GEMM_H
#define KERNELS_COMMON_GEMM_H

#include "tutti/isa.h"
#include "tutti/tensor.h"

/* y (M, N) = a (M, K) b (K, N) + bias, then what the epilogue makes of it; sums are f32.  To use it: fill in
 * the sizes with the rest 0, call gemm_plan, keep the struct, and gemm_run with the scratch that the plan
 * wants.  The same numbers in give the same bits, for one number of threads; with `parts` set for any number, and in
 * f32 on every CPU that has a micro-kernel. */
typedef struct gemm {
    int64_t m, n, k;      /* none is 0 */
    int64_t a_row, a_col; /* a(i, j) = a[i * a_row + j * a_col]; one of them is 1 */
    int64_t b_row, b_col; /* so for b */
    int64_t y_row;        /* y(i, j) = y[i * y_row + j] */
    int32_t threads;
    int32_t a_dtype, b_dtype; /* 0 or F32; also `factor` */
    int32_t factor;           /* BF16 or F16: factors are rounded to it; 0: they are F32 */
    int32_t unstored;         /* there is no y: the epilogue stores what it gets */
    int32_t division;         /* GEMM_ANY: gemm_plan's choice */
    int32_t parts, reserved;  /* of K where that is divided; 0: as many as there are threads */
    const struct gemm_microkernel
        *microkernel; /* NULL: gemm_plan's choice, gemm_microkernel.h */
    int64_t depth;    /* gemm_plan's: of K that is packed at a time */
    int64_t columns;  /* of b that lie packed at a time */
    int64_t turn;     /* where rows are divided: of K that lies packed at a time */
} gemm;

/* What the threads divide: rows of y; its columns; or K, whose partial sums are joined in order. */
enum { GEMM_ANY, GEMM_ROWS, GEMM_COLUMNS, GEMM_DEPTH, GEMM_DIVISIONS };

/* A complete part of the result: rows [row, row + rows), columns [col, col + cols), 256 of them at most where y
 * is not stored.  `values` (rows apart by values_row) lies in y, or in the scratch. */
typedef struct gemm_part {
    int64_t row, rows, col, cols;
    float *values;
    int64_t values_row;
} gemm_part;

/* Called by one thread for a part as soon as it is complete; every element is in one call. */
typedef void gemm_epilogue(const void *how, const gemm_part *part);

/* An epilogue that stores y as BF16 or F16, rows `row` elements apart; `how` is a gemm_half_store. */
typedef struct gemm_half_store {
    uint16_t *y;
    int64_t row;
    int32_t dtype, reserved;
} gemm_half_store;
void gemm_store_half(const void *how, const gemm_part *part);
TUTTI_ISA_VARIANTS(gemm_store_half);

/* A factor that lies nowhere as a matrix is made block by block while it is packed: its elements of `rows` rows from
 * `row` on and `cols` columns from `col` on, of the factor's dtype, row by row to `to`.  Any thread. */
typedef void gemm_source(const void *how, int64_t row, int64_t rows, int64_t col, int64_t cols,
                         void *to);

typedef struct gemm_data {
    const void *a, *b;
    const float *bias;       /* (N) or NULL */
    float *y;                /* NULL where it is not stored */
    gemm_epilogue *epilogue; /* or NULL */
    const void *how;
    const float *packed_b;            /* by gemm_pack_whole, in the place of b; or NULL */
    gemm_source *a_source, *b_source; /* in the place of a and b, or NULL */
    const void *source;               /* what they are made of */
} gemm_data;

/* E_UNSUPPORTED on an x86-64 CPU without AVX2 and FMA, for BF16 without AVX512_BF16 or FEAT_BF16,
 * for F16 without AMX-FP16.  [control] */
tutti_status gemm_plan(gemm *p, uint64_t *ret_scratch);

/* Bytes of the whole of b packed, to be kept between runs.  `layout` says how it lies: what has equal texts has one
 * layout, whatever M is. */
enum { GEMM_LAYOUT = 96 };
uint64_t gemm_packed_bytes(const gemm *p, char layout[GEMM_LAYOUT]);
/* `to` is 64-byte aligned.  [step] */
void gemm_pack_whole(const gemm *p, const void *b, float *to);

/* `scratch` is 64-byte aligned; y overlaps with nothing.  Allocates nothing.  [step] */
void gemm_run(const gemm *p, const gemm_data *d, void *scratch);

#endif
