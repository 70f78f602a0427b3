/* product.h - one large product of f32 matrices, packed and divided over threads by ourselves. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_COMMON_PRODUCT_H
#define KERNELS_COMMON_PRODUCT_H

#include "tutti/tensor.h"

/* y (M, N) = a (M, K) b (K, N) + bias, then what `end` makes of it.  To use it: fill in the sizes with
 * the rest 0, call product_plan, keep the struct, and product_run with the scratch that the plan wants.
 * The same numbers in give the same bits, for one number of threads. */
typedef struct product {
    int64_t m, n, k;      /* none is 0 */
    int64_t a_row, a_col; /* a(i, j) = a[i * a_row + j * a_col]; one of them is 1 */
    int64_t b_row, b_col; /* so for b */
    int64_t y_row;        /* y(i, j) = y[i * y_row + j] */
    int32_t threads;
    int32_t division;                  /* PRODUCT_ANY: product_plan's choice */
    const struct product_units *units; /* NULL: product_plan's choice, product_tile.h */
    int64_t depth;                     /* product_plan's: of K that is packed at a time */
    int64_t columns;                   /* of b that lie packed at a time */
} product;

/* What the threads divide: rows of y; its columns; or K, whose partial sums are joined in order. */
enum { PRODUCT_ANY, PRODUCT_ROWS, PRODUCT_COLUMNS, PRODUCT_DEPTH, PRODUCT_DIVISIONS };

/* Called by one thread for rows [row, row + rows) and columns [col, col + cols) of y as soon as they
 * are complete; every element is in one call. */
typedef void product_end(const void *how, int64_t row, int64_t rows, int64_t col, int64_t cols);

typedef struct product_data {
    const float *a, *b;
    const float *bias; /* (N) or NULL */
    float *y;
    product_end *end; /* or NULL */
    const void *how;
} product_data;

/* E_UNSUPPORTED on a CPU without AVX2 and FMA.  [control] */
tutti_status product_plan(product *p, uint64_t *ret_scratch);

/* `scratch` is 64-byte aligned; y overlaps with nothing.  Allocates nothing.  [step] */
void product_run(const product *p, const product_data *d, void *scratch);

#endif
