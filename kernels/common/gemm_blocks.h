/* gemm_blocks.h - the blocks of a large GEMM: how many there are, how they are packed, what they take of the scratch. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_COMMON_GEMM_BLOCKS_H
#define KERNELS_COMMON_GEMM_BLOCKS_H

#include "common/gemm.h"
#include "common/gemm_microkernel.h"

/* So many rows of a and columns of b are packed at a time that they stay in the second cache, and of b for all threads
 * what stays in the third. */
enum {
    GEMM_BLOCK_PANELS = 12,
    /* of 16 bits, where parts of K have sums of their own: whole rows of few hundred numbers come from memory once */
    GEMM_DEPTH_PANELS = 20,
    GEMM_BLOCK_COLS = 256,
    GEMM_SHARED_WORDS = 1 << 21,
    GEMM_DEEP_WORDS = 1 << 18
};

static inline int64_t gemm_least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t gemm_parts_of(int64_t n, int64_t most)
{
    return (n + most - 1) / most;
}

/* Where part t of `parts` of n begins, in multiples of `unit`. */
static inline int64_t gemm_cut(int64_t n, int64_t unit, int64_t t, int64_t parts)
{
    return gemm_least(n, gemm_parts_of(n, unit) * t / parts * unit);
}

/* The height of a's panels that makes `rows` out of as few as possible, and as equal as their steps allow. */
static inline int64_t gemm_height(const gemm *p, int64_t rows)
{
    const gemm_microkernel *u = p->microkernel;
    return rows ? gemm_parts_of(gemm_parts_of(rows, gemm_parts_of(rows, u->rows)), u->step) *
                      u->step
                : u->step;
}

/* Words of so many numbers of K. */
static inline int64_t gemm_words_of(const gemm *p, int64_t depth)
{
    const int64_t deep = p->microkernel->deep * p->microkernel->grain;
    return gemm_parts_of(depth, deep) * p->microkernel->grain;
}

/* Words of a's panels of `rows` rows, of b's of `cols` columns, for one word of k. */
static inline int64_t gemm_a_width(const gemm *p, int64_t rows)
{
    return gemm_parts_of(rows, gemm_height(p, rows)) * p->microkernel->panel;
}

static inline int64_t gemm_b_width(const gemm *p, int64_t cols)
{
    return gemm_parts_of(cols, p->microkernel->cols) * p->microkernel->cols;
}

static inline int64_t gemm_block_panels(const gemm *p)
{
    return p->factor && p->division == GEMM_DEPTH ? GEMM_DEPTH_PANELS : GEMM_BLOCK_PANELS;
}

static inline int64_t gemm_a_scratch(const gemm *p)
{
    return gemm_block_panels(p) * p->microkernel->panel * gemm_words_of(p, p->depth);
}

/* Sums of a block that are not stored: all columns while K comes in parts, else those that go at once. */
static inline int64_t gemm_sums_row(const gemm *p)
{
    return p->depth >= p->k ? GEMM_BLOCK_COLS : p->columns;
}

static inline int64_t gemm_rows_scratch(const gemm *p)
{
    return gemm_a_scratch(p) +
           (p->unstored ? GEMM_BLOCK_PANELS * p->microkernel->rows * gemm_sums_row(p) : 0);
}

/* What a thread packs of b and, where y is not stored, its sums of as many columns. */
static inline int64_t gemm_columns_scratch(const gemm *p)
{
    return GEMM_BLOCK_COLS * (gemm_words_of(p, p->depth) + (p->unstored ? p->m : 0));
}

/* Element (i, j) of a matrix and what follows it. */
static inline gemm_matrix gemm_matrix_from(const void *data, int32_t dtype, int64_t row,
                                           int64_t col, int64_t i, int64_t j)
{
    const int64_t size = gemm_number_bytes(dtype);
    return (gemm_matrix){(const char *)data + (i * row + j * col) * size, row, col, dtype, 0};
}

/* gemm_block_a and gemm_block_b for factors with a source. */
void gemm_cut_a(const gemm *p, const gemm_data *d, int64_t high, int64_t row, int64_t rows,
                int64_t k, int64_t depth, float *to);
void gemm_cut_b(const gemm *p, const gemm_data *d, int64_t col, int64_t cols, int64_t k,
                int64_t depth, float *to);

static inline void gemm_block_a(const gemm *p, const gemm_data *d, int64_t high, int64_t row,
                                int64_t rows, int64_t k, int64_t depth, float *to)
{
    if (d->a_source) {
        gemm_cut_a(p, d, high, row, rows, k, depth, to);
        return;
    }
    const gemm_matrix a = gemm_matrix_from(d->a, p->a_dtype, p->a_row, p->a_col, row, k);
    p->microkernel->pack_a(high, rows, depth, &a, to);
}

static inline void gemm_block_b(const gemm *p, const gemm_data *d, int64_t col, int64_t cols,
                                int64_t k, int64_t depth, float *to)
{
    if (d->b_source) {
        gemm_cut_b(p, d, col, cols, k, depth, to);
        return;
    }
    const gemm_matrix b = gemm_matrix_from(d->b, p->b_dtype, p->b_row, p->b_col, k, col);
    p->microkernel->pack_b(p->microkernel->cols, depth, cols, &b, to);
}

/* Where columns from `col` on, and numbers of K from `k` on, `depth` of them, lie in the whole of b. */
static inline int64_t gemm_packed_place(const gemm *p, int64_t col, int64_t k, int64_t depth)
{
    return gemm_words_of(p, k) * gemm_b_width(p, p->n) + col * gemm_words_of(p, depth);
}

/* Of one part of K where that is divided, else of all of it. */
static inline int64_t gemm_part_words(const gemm *p)
{
    const int64_t k = p->division == GEMM_DEPTH ? gemm_parts_of(p->k, p->parts) : p->k;
    return gemm_b_width(p, p->n) * (gemm_words_of(p, k) + p->microkernel->grain);
}

#endif
