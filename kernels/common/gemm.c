/* gemm.c - a large GEMM: blocking, packing, and what each thread computes. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/gemm.h"
#include "common/gemm_microkernel.h"

#include <string.h>

/* So many rows of a and columns of b are packed at a time that they stay in the second cache, and of b for all threads
 * what stays in the third. */
enum { BLOCK_PANELS = 12, BLOCK_COLS = 256, SHARED = 1 << 21, DEEP = 1 << 18 };

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t parts_of(int64_t n, int64_t most)
{
    return (n + most - 1) / most;
}

/* Where part t of `parts` of n begins, in multiples of `unit`. */
static int64_t cut(int64_t n, int64_t unit, int64_t t, int64_t parts)
{
    return least(n, parts_of(n, unit) * t / parts * unit);
}

/* The height of a's panels that makes `rows` out of as few as possible, and as equal as their steps allow. */
static int64_t height(const gemm *p, int64_t rows)
{
    const gemm_microkernel *u = p->microkernel;
    return rows ? parts_of(parts_of(rows, parts_of(rows, u->rows)), u->step) * u->step
                : u->step;
}

/* Words of so many numbers of K. */
static int64_t words_of(const gemm *p, int64_t depth)
{
    const int64_t deep = p->microkernel->deep * p->microkernel->grain;
    return parts_of(depth, deep) * p->microkernel->grain;
}

/* Words of a's panels of `rows` rows, of b's of `cols` columns, for one word of k. */
static int64_t a_width(const gemm *p, int64_t rows)
{
    return parts_of(rows, height(p, rows)) * p->microkernel->panel;
}

static int64_t b_width(const gemm *p, int64_t cols)
{
    return parts_of(cols, p->microkernel->cols) * p->microkernel->cols;
}

static int64_t a_scratch(const gemm *p)
{
    return BLOCK_PANELS * p->microkernel->panel * words_of(p, p->depth);
}

/* ---- one thread's work ---- */

/* Element (i, j) of a matrix and what follows it. */
static gemm_matrix from(const void *data, int32_t dtype, int64_t row, int64_t col, int64_t i,
                        int64_t j)
{
    const int64_t size = dtype == TUTTI_BF16 ? 2 : 4;
    return (gemm_matrix){(const char *)data + (i * row + j * col) * size, row, col, dtype, 0};
}

static void pack_a(const gemm *p, const gemm_data *d, int64_t high, int64_t row, int64_t rows,
                   int64_t k, int64_t depth, float *to)
{
    const gemm_matrix a = from(d->a, p->a_dtype, p->a_row, p->a_col, row, k);
    p->microkernel->pack_a(high, rows, depth, &a, to);
}

static void pack_b(const gemm *p, const gemm_data *d, int64_t col, int64_t cols, int64_t k,
                   int64_t depth, float *to)
{
    const gemm_matrix b = from(d->b, p->b_dtype, p->b_row, p->b_col, k, col);
    p->microkernel->pack_b(p->microkernel->cols, depth, cols, &b, to);
}

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
    const int64_t rows = least(o->high, o->rows - row);
    const float *a = o->a + row / o->high * u->panel * o->words;
    float start[GEMM_MAX_COLS] = {0};
    for (int64_t col = begin; col < end; col += u->cols) {
        const int64_t cols = least(u->cols, o->cols - col);
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
    for (int64_t col = 0; col < o->cols; col += BLOCK_COLS) {
        const int64_t to = least(o->cols, col + BLOCK_COLS);
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
    const int64_t first = cut(u->cols, p->microkernel->cols, t, p->threads);
    const int64_t n = cut(u->cols, p->microkernel->cols, t + 1, p->threads) - first;
    for (int64_t k = u->begin, depth; k < u->end; k += depth) {
        depth = least(p->depth, u->end - k);
        pack_b(p, d, u->col + first, n, k, depth,
               packed + words_of(p, k - u->begin) * b_width(p, u->cols) +
                   first * words_of(p, depth));
    }
}

/* Sums of a block that are not stored: all columns while K comes in parts, else those that go at once. */
static int64_t sums_row(const gemm *p)
{
    return p->depth >= p->k ? BLOCK_COLS : p->columns;
}

static int64_t rows_scratch(const gemm *p)
{
    return a_scratch(p) + (p->unstored ? BLOCK_PANELS * p->microkernel->rows * sums_row(p) : 0);
}

static void rows_multiply(const gemm *p, const gemm_data *d, int64_t t, const turn *u,
                          const float *packed, float *own)
{
    const int64_t begin = p->m * t / p->threads, end = p->m * (t + 1) / p->threads;
    const int64_t high = height(p, end - begin);
    float *sums = own + a_scratch(p); /* where y is not stored */
    for (int64_t row = begin, rows; row < end; row += rows) {
        rows = least(BLOCK_PANELS * high, end - row);
        for (int64_t k = u->begin; k < u->end; k += p->depth) {
            const int64_t depth = least(p->depth, u->end - k);
            const block o = {.row = row,
                             .rows = rows,
                             .high = high,
                             .col = u->col,
                             .cols = u->cols,
                             .words = words_of(p, depth),
                             .a = own,
                             .b = packed + words_of(p, k - u->begin) * b_width(p, u->cols),
                             .y = p->unstored ? sums : d->y + row * p->y_row + u->col,
                             .y_row = p->unstored ? sums_row(p) : p->y_row,
                             .bias = d->bias ? d->bias + u->col : NULL,
                             .first = k == 0,
                             .last = k + p->depth >= p->k,
                             .passing = p->unstored && p->depth >= p->k};
            pack_a(p, d, high, row, rows, k, depth, own);
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
    u->cols = least(p->columns, p->n - u->col);
    u->begin = again ? u->end : 0;
    u->end = least(u->begin + p->turn, p->k);
    return u->cols > 0;
}

static void by_rows(const gemm *p, const gemm_data *d, float *scratch)
{
    float *packed = scratch + p->threads * rows_scratch(p);
#pragma omp parallel num_threads(p->threads) if (p->threads > 1)
    for (turn u = {0, 0, 0, 0}; next_turn(p, &u);) {
#pragma omp for schedule(static)
        for (int t = 0; t < p->threads; t++)
            rows_pack(p, d, t, &u, packed);
#pragma omp for schedule(static)
        for (int t = 0; t < p->threads; t++)
            rows_multiply(p, d, t, &u, packed, scratch + t * rows_scratch(p));
    }
}

/* ---- columns: a is packed by all, b by whom its columns belong to ---- */

static void columns_pack(const gemm *p, const gemm_data *d, int64_t t, float *packed)
{
    const int64_t high = height(p, p->m), first = cut(p->m, high, t, p->threads);
    const int64_t rows = cut(p->m, high, t + 1, p->threads) - first;
    for (int64_t k = 0, depth; k < p->k; k += depth) {
        depth = least(p->depth, p->k - k);
        pack_a(p, d, high, first, rows, k, depth,
               packed + words_of(p, k) * a_width(p, p->m) +
                   first / high * p->microkernel->panel * words_of(p, depth));
    }
}

/* What a thread packs of b and, where y is not stored, its sums of as many columns. */
static int64_t columns_scratch(const gemm *p)
{
    return BLOCK_COLS * (words_of(p, p->depth) + (p->unstored ? p->m : 0));
}

static void columns_multiply(const gemm *p, const gemm_data *d, int64_t t, const float *packed,
                             float *own)
{
    float *sums = own + BLOCK_COLS * words_of(p, p->depth); /* where y is not stored */
    const int64_t end = cut(p->n, p->microkernel->cols, t + 1, p->threads);
    for (int64_t col = cut(p->n, p->microkernel->cols, t, p->threads), cols; col < end;
         col += cols) {
        cols = least(BLOCK_COLS, end - col);
        for (int64_t k = 0; k < p->k; k += p->depth) {
            const int64_t depth = least(p->depth, p->k - k);
            const block o = {.rows = p->m,
                             .high = height(p, p->m),
                             .col = col,
                             .cols = cols,
                             .words = words_of(p, depth),
                             .a = packed + words_of(p, k) * a_width(p, p->m),
                             .b = own,
                             .y = p->unstored ? sums : d->y + col,
                             .y_row = p->unstored ? BLOCK_COLS : p->y_row,
                             .bias = d->bias ? d->bias + col : NULL,
                             .first = k == 0,
                             .last = k + p->depth >= p->k};
            pack_b(p, d, col, cols, k, depth, own);
            multiply(p, d, &o);
        }
    }
}

static void by_columns(const gemm *p, const gemm_data *d, float *scratch)
{
    const int64_t own = columns_scratch(p);
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
    const int64_t high = height(p, p->m), most = BLOCK_PANELS * high;
    const gemm_data alone = {.a = d->a, .b = d->b}; /* the end comes after the joining */
    float *b = own + a_scratch(p);
    for (int64_t k = begin, depth; k < end; k += depth) {
        depth = least(p->depth, end - k);
        pack_b(p, d, 0, p->n, k, depth, b);
        for (int64_t row = 0; row < p->m; row += most) {
            const block o = {.rows = least(most, p->m - row),
                             .high = high,
                             .cols = p->n,
                             .words = words_of(p, depth),
                             .a = own,
                             .b = b,
                             .y = sums + row * sums_row,
                             .y_row = sums_row,
                             .bias = t == 0 ? d->bias : NULL,
                             .first = k == begin};
            pack_a(p, d, high, row, o.rows, k, depth, own);
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
    const int64_t own = a_scratch(p) + b_width(p, p->n) * words_of(p, p->depth);
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

/* ---- the plan ---- */

const gemm_microkernel *gemm_microkernel_at(int bf16, int k)
{
    const tutti_isa_table *all = bf16 ? &gemm_microkernel_bf16_isa : &gemm_microkernel_f32_isa;
    const gemm_microkernel *last = NULL;
    for (int32_t level = tutti_isa(); level >= 0; level--) {
        const gemm_microkernel *u = tutti_isa_at(all, level);
        if (u->rows && (!last || u->rows != last->rows || u->deep != last->deep)) {
            if (k-- == 0)
                return u;
            last = u;
        }
    }
    return NULL;
}

/* Do all rows lie packed at once? */
static int is_few(const gemm *p)
{
    return p->m <= BLOCK_PANELS * p->microkernel->rows;
}

/* Few rows whose K is so long that, packed, they and b's columns are more than the second cache holds. */
static int is_deep(const gemm *p)
{
    return is_few(p) && p->m * words_of(p, p->k) > DEEP;
}

/* Long sums of few numbers: their parts.  Else the longer side of y.  Sums that are not stored have room for one block
 * of rows; a block of b's columns is read from memory in whole lines where they are neighbours along K. */
static int32_t divide(const gemm *p)
{
    const int64_t longest = p->m > p->n ? p->m : p->n;
    const int wide = p->m < p->n && parts_of(p->n, p->microkernel->cols) >= 2 * p->threads;
    if (!p->unstored && p->parts * longest <= p->k)
        return GEMM_DEPTH;
    if (p->unstored && (!is_few(p) || p->b_col == 1))
        return GEMM_ROWS;
    return wide ? GEMM_COLUMNS : GEMM_ROWS;
}

/* So much of K at a time that the parts are equal, in whole words and eight of them. */
static int64_t depth_of(const gemm *p, int64_t k)
{
    const gemm_microkernel *u = p->microkernel;
    const int64_t unit = u->deep * (u->grain > 8 ? u->grain : 8);
    return parts_of(parts_of(k, parts_of(k, u->words * u->deep)), unit) * unit;
}

tutti_status gemm_plan(gemm *p, uint64_t *ret_scratch)
{
    const int64_t t = p->threads;
    if (!p->microkernel)
        p->microkernel = gemm_microkernel_at(p->bf16, 0);
    if (!p->microkernel)
        return TUTTI_E_UNSUPPORTED;
    if (!p->parts)
        p->parts = p->threads;
    if (p->division == GEMM_ANY)
        p->division = divide(p);
    p->depth = depth_of(p, p->division == GEMM_DEPTH ? parts_of(p->k, p->parts) : p->k);
    p->columns = parts_of(SHARED, p->k * BLOCK_COLS) * BLOCK_COLS;
    if (p->columns < 4 * BLOCK_COLS)
        p->columns = 4 * BLOCK_COLS;
    p->columns = least(p->columns, b_width(p, p->n));
    p->turn = is_deep(p) && p->division == GEMM_ROWS ? p->depth : p->k;
    const int64_t words = words_of(p, p->depth), rest = p->microkernel->grain;
    const int64_t all = words_of(p, p->k) + rest;
    int64_t floats;
    if (p->division == GEMM_ROWS)
        floats = t * rows_scratch(p) + p->columns * (words_of(p, p->turn) + rest);
    else if (p->division == GEMM_COLUMNS)
        floats = t * columns_scratch(p) + a_width(p, p->m) * all;
    else
        floats =
            p->parts * (a_scratch(p) + b_width(p, p->n) * words) + (p->parts - 1) * p->m * p->n;
    *ret_scratch = (uint64_t)floats * sizeof(float);
    return TUTTI_OK;
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
