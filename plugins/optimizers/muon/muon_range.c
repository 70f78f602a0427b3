/* muon_range.c - the passes over one matrix, part by part. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "muon_range.h"

#include "../../common/squares_sum.h"
#include "../optimizer.h"

/* Of the inner dimension, packed at a time; rows of a tile that go together. */
enum { PANEL = 256, TOGETHER = 4 };

static inline int64_t piece_end(const muon_job *j, int64_t p)
{
    const int64_t n = j->rows * j->cols, end = (p + 1) * SQUARES_PIECE;
    return end < n ? end : n;
}

/* Where element i of the matrix lies in the direction. */
static inline int64_t muon_range_transposed(const muon_job *j, int64_t i)
{
    return j->rows > j->cols ? i % j->cols * j->rows + i / j->cols : i;
}

void muon_look(const muon_job *j, int64_t p)
{
    const int64_t first = p * SQUARES_PIECE, end = piece_end(j, p);
    const muon_step k = j->step;
    float some[SQUARES_LANES];
    double lanes[SQUARES_LANES] = {0.0};
    for (int64_t at = first; at < end; at += SQUARES_LANES) {
        const int64_t n = end - at < SQUARES_LANES ? end - at : SQUARES_LANES;
        const float *restrict g = j->g + at;
        float *restrict buffer = j->buffer + at;
        for (int64_t t = 0; t < n; t++) {
            some[t] = muon_direction(g[t], &buffer[t], k);
            lanes[t] += squares_term(some[t], 0.0f);
        }
        for (int64_t t = 0; t < n; t++)
            j->memory.x[muon_range_transposed(j, at + t)] = some[t];
    }
    j->memory.sums[p] = squares_pair(lanes);
}

void muon_scale(const muon_job *j, int64_t p)
{
    const int64_t first = p * SQUARES_PIECE, n = piece_end(j, p) - first;
    float *restrict x = j->memory.x + first;
    for (int64_t i = 0; i < n; i++)
        x[i] = muon_round(x[i] / j->norm);
}

/* Rows of b, from `from` on, of the tile's columns; zeros beside them. */
static void muon_range_pack(const muon_product *p, int64_t from, int64_t count, int64_t column,
                            int64_t cols, float (*restrict to)[MUON_TILE])
{
    for (int64_t k = 0; k < count; k++) {
        for (int64_t c = 0; c < cols && !p->transposed; c++)
            to[k][c] = p->b[(from + k) * p->cols + column + c];
        for (int64_t c = 0; c < cols && p->transposed; c++)
            to[k][c] = p->b[(column + c) * p->inner + from + k];
        for (int64_t c = cols; c < MUON_TILE; c++)
            to[k][c] = 0.0f;
    }
}

/* sums += a * panel, for TOGETHER rows of a, `stride` apart; rows past `rows` repeat the last. */
static inline void add_rows(const float *a, int64_t stride, int64_t rows, int64_t count,
                            const float (*restrict panel)[MUON_TILE],
                            float (*restrict sums)[MUON_TILE])
{
    const float *row[TOGETHER];
    float now[TOGETHER][MUON_TILE];
    for (int i = 0; i < TOGETHER; i++)
        row[i] = a + (i < rows ? i : rows - 1) * stride;
    memcpy(now, sums, sizeof now);
    for (int64_t k = 0; k < count; k++)
        for (int i = 0; i < TOGETHER; i++)
            for (int c = 0; c < MUON_TILE; c++)
                now[i][c] += row[i][k] * panel[k][c];
    memcpy(sums, now, sizeof now);
}

void muon_tile(const muon_job *j, int64_t t)
{
    const muon_product *p = &j->product;
    const int64_t across = (p->cols + MUON_TILE - 1) / MUON_TILE;
    const int64_t row = t / across * MUON_TILE, column = t % across * MUON_TILE;
    const int64_t rows = p->rows - row < MUON_TILE ? p->rows - row : MUON_TILE;
    const int64_t cols = p->cols - column < MUON_TILE ? p->cols - column : MUON_TILE;
    float panel[PANEL][MUON_TILE], sums[MUON_TILE][MUON_TILE] = {{0.0f}};
    for (int64_t from = 0; from < p->inner; from += PANEL) {
        const int64_t count = p->inner - from < PANEL ? p->inner - from : PANEL;
        muon_range_pack(p, from, count, column, cols, panel);
        for (int64_t r = 0; r < rows; r += TOGETHER)
            add_rows(p->a + (row + r) * p->inner + from, p->inner, rows - r, count,
                     (const float(*)[MUON_TILE])panel, sums + r);
    }
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < cols; c++) {
            const int64_t at = (row + r) * p->cols + column + c;
            const float sum = p->alpha * sums[r][c];
            p->to[at] = muon_round(p->add ? p->beta * p->add[at] + sum : sum);
        }
}

void muon_change(const muon_job *j, int64_t p)
{
    const int64_t first = p * SQUARES_PIECE, end = piece_end(j, p);
    for (int64_t i = first; i < end; i++)
        j->w[i] = muon_move(j->w[i], j->memory.x[muon_range_transposed(j, i)], j->step);
    if (j->low)
        optimizer_to_low(end - first, j->w + first, j->low + first, j->low_dtype);
}
