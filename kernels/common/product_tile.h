/* product_tile.h - the inner parts of a product: packed panels, and tiles of y from them. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_COMMON_PRODUCT_TILE_H
#define KERNELS_COMMON_PRODUCT_TILE_H

#include <stdint.h>

/* a's panel holds some rows of a: for each k PRODUCT_A numbers, of which so many are used.  b's panel
 * holds `cols` columns of b: for each k so many numbers, anything finite beyond N. */
enum { PRODUCT_A = 16, PRODUCT_MAX_ROWS = 14, PRODUCT_MAX_COLS = 32 };

/* Rows by `cols` of y = start, or y if that is NULL, + panel of a times panel of b. */
typedef void product_tile(int64_t k, const float *a, const float *b, const float *start,
                          float *y, int64_t y_row);

/* What suits a CPU's registers. */
typedef struct product_units {
    int64_t rows, cols;        /* the largest tile */
    product_tile *const *tile; /* [r]: r rows */
} product_units;

/* Those that this CPU has, the best one first; NULL behind the last. */
const product_units *product_units_at(int k);

/* `rows` rows by k of a in panels of `high`, one after the other; k by `cols` columns of b. */
void product_pack_a(int64_t high, int64_t rows, int64_t k, const float *a, int64_t a_row,
                    int64_t a_col, float *to);
void product_pack_b(int64_t wide, int64_t k, int64_t cols, const float *b, int64_t b_row,
                    int64_t b_col, float *to);

#endif
