/* gemm.c - runs a large GEMM, by blocking: what each thread packs and multiplies. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/gemm_blocks.h"

#include <string.h>

/* ---- one thread's work ---- */

/* Part of y and what it is made of. */
typedef struct block {
    int64_t row, rows, high; /* a's panels have so many rows, the last one the rest */
    int64_t col, cols;
    int64_t words;
    const float *a, *b; /* packed */
    float *y;
    int64_t y_row;
    const float *bias; /* of the block's columns, or NULL */
    int first, last;   /* of the parts of K */
    int passing;       /* y has room for some columns alone: the epilogue takes them at once */
} block;

/* A tile narrower than the panel. */
static void edge(gemm_tile *tile, int64_t wide, const block *o, int64_t rows, int64_t cols,
                 const float *a, const float *b, const float *start, float *y)
{
    float part[GEMM_MAX_ROWS * GEMM_MAX_COLS] = {0};
    for (int64_t i = 0; i < rows && !start; i++)
        memcpy(part + i * wide, y + i * o->y_row, (size_t)cols * sizeof *y);
    tile(o->words, a, b, start, part, wide);
    for (int64_t i = 0; i < rows; i++)
        memcpy(y + i * o->y_row, part + i * wide, (size_t)cols * sizeof *y);
}

/* One panel of a by the panels of b from column `begin` to `end`, which lies at `at` in the first row. */
static void multiply_rows(const gemm_microkernel *u, const block *o, int64_t row, int64_t begin,
                          int64_t end, float *at)
{
    const int64_t rows = gemm_least(o->high, o->rows - row);
    const float *a = o->a + row / o->high * u->panel * o->words;
    float start[GEMM_MAX_COLS] = {0};
    for (int64_t col = begin; col < end; col += u->cols) {
        const int64_t cols = gemm_least(u->cols, o->cols - col);
        const float *b = o->b + col * o->words;
        float *y = at + row * o->y_row + col - begin;
        if (o->first && o->bias)
            memcpy(start, o->bias + col, (size_t)cols * sizeof *start);
        if (cols == u->cols)
            u->tile[rows](o->words, a, b, o->first ? start : NULL, y, o->y_row);
        else
            edge(u->tile[rows], u->cols, o, rows, cols, a, b, o->first ? start : NULL, y);
    }
}

static void multiply(const gemm *p, const gemm_data *d, const block *o)
{
    if (p->microkernel->enter)
        p->microkernel->enter();
    for (int64_t col = 0; col < o->cols; col += GEMM_BLOCK_COLS) {
        const int64_t to = gemm_least(o->cols, col + GEMM_BLOCK_COLS);
        float *at = o->passing ? o->y : o->y + col;
        for (int64_t row = 0; row < o->rows; row += o->high)
            multiply_rows(p->microkernel, o, row, col, to, at);
        const gemm_part done = {o->row, o->rows, o->col + col, to - col, at, o->y_row};
        if (o->last && d->epilogue)
            d->epilogue(d->how, &done);
    }
    if (p->microkernel->leave)
        p->microkernel->leave();
}

/* ---- rows: b is packed by all, a by whom its rows belong to ---- */

/* What is multiplied between two barriers: columns of b, and of K all, or one part where y's rows are few. */
typedef struct turn {
    int64_t col, cols;
    int64_t begin, end; /* of K */
} turn;

static void rows_pack(const gemm *p, const gemm_data *d, int64_t t, const turn *u,
                      float *packed)
{
    const int64_t first = gemm_cut(u->cols, p->microkernel->cols, t, p->threads);
    const int64_t n = gemm_cut(u->cols, p->microkernel->cols, t + 1, p->threads) - first;
    for (int64_t k = u->begin, depth; k < u->end; k += depth) {
        depth = gemm_least(p->depth, u->end - k);
        gemm_block_b(p, d, u->col + first, n, k, depth,
                     packed + gemm_words_of(p, k - u->begin) * gemm_b_width(p, u->cols) +
                         first * gemm_words_of(p, depth));
    }
}

static void rows_multiply(const gemm *p, const gemm_data *d, int64_t t, const turn *u,
                          const float *packed, float *own)
{
    const int64_t begin = p->m * t / p->threads, end = p->m * (t + 1) / p->threads;
    const int64_t high = gemm_height(p, end - begin);
    float *sums = own + gemm_a_scratch(p); /* where y is not stored */
    for (int64_t row = begin, rows; row < end; row += rows) {
        rows = gemm_least(GEMM_BLOCK_PANELS * high, end - row);
        for (int64_t k = u->begin; k < u->end; k += p->depth) {
            const int64_t depth = gemm_least(p->depth, u->end - k);
            const int64_t turned = gemm_words_of(p, k - u->begin) * gemm_b_width(p, u->cols);
            const block o = {.row = row,
                             .rows = rows,
                             .high = high,
                             .col = u->col,
                             .cols = u->cols,
                             .words = gemm_words_of(p, depth),
                             .a = own,
                             .b = d->packed_b
                                      ? d->packed_b + gemm_packed_place(p, u->col, k, depth)
                                      : packed + turned,
                             .y = p->unstored ? sums : d->y + row * p->y_row + u->col,
                             .y_row = p->unstored ? gemm_sums_row(p) : p->y_row,
                             .bias = d->bias ? d->bias + u->col : NULL,
                             .first = k == 0,
                             .last = k + p->depth >= p->k,
                             .passing = p->unstored && p->depth >= p->k};
            gemm_block_a(p, d, high, row, rows, k, depth, own);
            multiply(p, d, &o);
        }
    }
}

/* The turn behind `u`, at first one of no columns; false: there is none. */
static int next_turn(const gemm *p, turn *u)
{
    const int again = u->cols && u->end < p->k;
    if (!again)
        u->col += u->cols;
    u->cols = gemm_least(p->columns, p->n - u->col);
    u->begin = again ? u->end : 0;
    u->end = gemm_least(u->begin + p->turn, p->k);
    return u->cols > 0;
}

static void by_rows(const gemm *p, const gemm_data *d, float *scratch)
{
    float *packed = scratch + p->threads * gemm_rows_scratch(p);
#pragma omp parallel num_threads(p->threads) if (p->threads > 1)
    for (turn u = {0, 0, 0, 0}; next_turn(p, &u);) {
#pragma omp for schedule(static)
        for (int t = 0; t < p->threads; t++) {
            if (!d->packed_b)
                rows_pack(p, d, t, &u, packed);
        }
#pragma omp for schedule(static)
        for (int t = 0; t < p->threads; t++)
            rows_multiply(p, d, t, &u, packed, scratch + t * gemm_rows_scratch(p));
    }
}

/* ---- columns: a is packed by all, b by whom its columns belong to ---- */

static void columns_pack(const gemm *p, const gemm_data *d, int64_t t, float *packed)
{
    const int64_t high = gemm_height(p, p->m), first = gemm_cut(p->m, high, t, p->threads);
    const int64_t rows = gemm_cut(p->m, high, t + 1, p->threads) - first;
    for (int64_t k = 0, depth; k < p->k; k += depth) {
        depth = gemm_least(p->depth, p->k - k);
        gemm_block_a(p, d, high, first, rows, k, depth,
                     packed + gemm_words_of(p, k) * gemm_a_width(p, p->m) +
                         first / high * p->microkernel->panel * gemm_words_of(p, depth));
    }
}

static void columns_multiply(const gemm *p, const gemm_data *d, int64_t t, const float *packed,
                             float *own)
{
    float *sums =
        own + GEMM_BLOCK_COLS * gemm_words_of(p, p->depth); /* where y is not stored */
    const int64_t end = gemm_cut(p->n, p->microkernel->cols, t + 1, p->threads);
    for (int64_t col = gemm_cut(p->n, p->microkernel->cols, t, p->threads), cols; col < end;
         col += cols) {
        cols = gemm_least(GEMM_BLOCK_COLS, end - col);
        for (int64_t k = 0; k < p->k; k += p->depth) {
            const int64_t depth = gemm_least(p->depth, p->k - k);
            const block o = {
                .rows = p->m,
                .high = gemm_height(p, p->m),
                .col = col,
                .cols = cols,
                .words = gemm_words_of(p, depth),
                .a = packed + gemm_words_of(p, k) * gemm_a_width(p, p->m),
                .b = d->packed_b ? d->packed_b + gemm_packed_place(p, col, k, depth) : own,
                .y = p->unstored ? sums : d->y + col,
                .y_row = p->unstored ? GEMM_BLOCK_COLS : p->y_row,
                .bias = d->bias ? d->bias + col : NULL,
                .first = k == 0,
                .last = k + p->depth >= p->k};
            if (!d->packed_b)
                gemm_block_b(p, d, col, cols, k, depth, own);
            multiply(p, d, &o);
        }
    }
}

static void by_columns(const gemm *p, const gemm_data *d, float *scratch)
{
    const int64_t own = gemm_columns_scratch(p);
    float *packed = scratch + p->threads * own;
#pragma omp parallel num_threads(p->threads) if (p->threads > 1)
    {
#pragma omp for schedule(static)
        for (int t = 0; t < p->threads; t++)
            columns_pack(p, d, t, packed);
#pragma omp for schedule(static)
        for (int t = 0; t < p->threads; t++)
            columns_multiply(p, d, t, packed, scratch + t * own);
    }
}

/* ---- depth: each part of K has sums of its own ---- */

static void depth_multiply(const gemm *p, const gemm_data *d, int64_t t, float *own,
                           float *sums, int64_t sums_row)
{
    const int64_t begin = p->k * t / p->parts, end = p->k * (t + 1) / p->parts;
    const int64_t high = gemm_height(p, p->m), most = gemm_block_panels(p) * high;
    const gemm_data alone = {.a = d->a, .b = d->b}; /* the end comes after the joining */
    const float *packed = d->packed_b ? d->packed_b + t * gemm_part_words(p) : NULL;
    for (int64_t k = begin, depth; k < end; k += depth) {
        depth = gemm_least(p->depth, end - k);
        float *b = own + gemm_a_scratch(p);
        if (!packed)
            gemm_block_b(p, d, 0, p->n, k, depth, b);
        for (int64_t row = 0; row < p->m; row += most) {
            const block o = {.rows = gemm_least(most, p->m - row),
                             .high = high,
                             .cols = p->n,
                             .words = gemm_words_of(p, depth),
                             .a = own,
                             .b = packed ? packed + gemm_packed_place(p, 0, k - begin, depth)
                                         : b,
                             .y = sums + row * sums_row,
                             .y_row = sums_row,
                             .bias = t == 0 ? d->bias : NULL,
                             .first = k == begin};
            gemm_block_a(p, d, high, row, o.rows, k, depth, own);
            multiply(p, &alone, &o);
        }
    }
}

static void depth_join(const gemm *p, const gemm_data *d, int64_t t, const float *sums)
{
    const int64_t begin = p->m * t / p->threads, end = p->m * (t + 1) / p->threads;
    for (int64_t i = begin; i < end; i++) {
        float *y = d->y + i * p->y_row;
        for (int32_t s = 1; s < p->parts; s++) {
            const float *x = sums + ((s - 1) * p->m + i) * p->n;
            for (int64_t j = 0; j < p->n; j++)
                y[j] += x[j];
        }
        const gemm_part row = {i, 1, 0, p->n, y, p->y_row};
        if (d->epilogue)
            d->epilogue(d->how, &row);
    }
}

static void by_depth(const gemm *p, const gemm_data *d, float *scratch)
{
    const int64_t own = gemm_a_scratch(p) + gemm_b_width(p, p->n) * gemm_words_of(p, p->depth);
    float *sums = scratch + p->parts * own;
#pragma omp parallel num_threads(p->threads) if (p->threads > 1)
    {
#pragma omp for schedule(static)
        for (int t = 0; t < p->parts; t++)
            depth_multiply(p, d, t, scratch + t * own, t ? sums + (t - 1) * p->m * p->n : d->y,
                           t ? p->n : p->y_row);
#pragma omp for schedule(static)
        for (int t = 0; t < p->threads; t++)
            depth_join(p, d, t, sums);
    }
}

void gemm_run(const gemm *p, const gemm_data *d, void *scratch)
{
    if (p->division == GEMM_ROWS)
        by_rows(p, d, scratch);
    else if (p->division == GEMM_COLUMNS)
        by_columns(p, d, scratch);
    else
        by_depth(p, d, scratch);
}
