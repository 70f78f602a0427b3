/* gemm_microkernel_bfmmla.c - the GEMM micro-kernel for bf16 factors and f32 sums on ARM: bfmmla. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/bfmmla.h"
#include "common/gemm_microkernel_loop.h"
#include "common/half_rows.h"
#include "tutti/tensor.h"

#include <string.h>

#if defined(BFMMLA_HERE)
#define INLINE SIMD_INLINE

/* A register holds four numbers of K of two rows of a, or of two columns of b; one of sums two rows by two columns.
 * 24 of sums, three of a and some of b are fewer than 32. */
enum { ROWS = 6, COLS = 16, PAIRS = ROWS / 2, VECS = COLS / 2, GRAIN = 2, DEEP = 4 };

/* ---- tiles ---- */

/* acc += rows of a by columns of b, for so many words of K. */
INLINE void loop(int pairs, int64_t words, const float *a, const float *b, f32x4 (*acc)[VECS])
{
    for (int64_t i = 0; i < words; i += GRAIN, a += GRAIN * ROWS, b += GRAIN * COLS) {
        f32x4 x[PAIRS];
        for (int p = 0; p < pairs; p++)
            x[p] = *(const f32x4 *)(a + 4 * p);
        for (int line = 0; line < GRAIN * COLS; line += 16)
            __builtin_prefetch(b + GEMM_AHEAD * COLS + line);
        GEMM_UNROLL for (int v = 0; v < VECS; v++)
        {
            const f32x4 y = *(const f32x4 *)(b + 4 * v);
            GEMM_UNROLL for (int p = 0; p < pairs; p++) BFMMLA(acc[p][v], x[p], y);
        }
    }
}

/* A row of y = start, or the row itself, + the first or second halves of sums. */
INLINE void store_row(int second, const f32x4 *sums, const float *start, float *y)
{
    const float *from = start ? start : y;
    GEMM_UNROLL for (int v = 0; v < VECS; v += 2)
    {
        const f32x4 row = second ? SIMD_SHUFFLE(sums[v], sums[v + 1], 2, 3, 6, 7)
                                 : SIMD_SHUFFLE(sums[v], sums[v + 1], 0, 1, 4, 5);
        *(f32x4 *)(y + 2 * v) = *(const f32x4 *)(from + 2 * v) + row;
    }
}

/* Lines of y are asked for one row at a time, as GEMM_PACKED_TILE does. */
INLINE void tile(int rows, int64_t words, const float *a, const float *b, const float *start,
                 float *y, int64_t y_row)
{
    const int pairs = (rows + 1) / 2;
    const int64_t some = (words / rows + GRAIN) / GRAIN * GRAIN; /* rows times: all words */
    f32x4 acc[PAIRS][VECS];
    const float *soon = y;
    GEMM_UNROLL for (int p = 0; p < pairs; p++)
    {
        GEMM_UNROLL for (int v = 0; v < VECS; v++) acc[p][v] = (f32x4){0};
    }
    for (int64_t left = words; left > 0; left -= some, soon += y_row) {
        const int64_t n = left < some ? left : some;
        __builtin_prefetch(soon, 1);
        __builtin_prefetch(soon + COLS - 1, 1);
        loop(pairs, n, a, b, acc);
        a += n * ROWS;
        b += n * COLS;
    }
    GEMM_UNROLL for (int r = 0; r < rows; r++)
        store_row(r % 2, acc[r / 2], start, y + r * y_row);
}

#define TILES(M) M(1) M(2) M(3) M(4) M(5) M(6)
GEMM_TILES(TILES);

/* ---- panels ---- */

/* Of a and b alike: for every DEEP numbers of K a unit of that many bf16 of each line, a line being a row of a or a
 * column of b. */
typedef struct unit {
    uint16_t of[DEEP];
} unit;
enum { CHUNK = 64, LINES = 16 };

/* n numbers at element `at` as bf16. */
INLINE void load(const gemm_matrix *m, int64_t at, int64_t n, int32_t dtype, uint16_t *to)
{
    if (dtype == TUTTI_BF16)
        memcpy(to, (const uint16_t *)m->data + at, (size_t)n * sizeof *to);
    else
        half_downcast((const float *)m->data + at, to, TUTTI_BF16, n);
}

/* One line, whose numbers are neighbours along K. */
INLINE void pack_along(const gemm_matrix *m, int64_t at, int64_t k, int32_t dtype, unit *to,
                       int64_t wide)
{
    for (int64_t j = 0; j < k; j += CHUNK) {
        const int64_t n = k - j < CHUNK ? k - j : CHUNK;
        uint16_t part[CHUNK];
        load(m, at + j, n, dtype, part);
        memset(part + n, 0, (size_t)(CHUNK - n) * sizeof *part);
        for (int64_t i = 0; i < n; i += DEEP, to += wide)
            memcpy(to, part + i, sizeof *to);
    }
}

/* `lines` lines (16 at most) that are neighbours; zeros in the others of `capacity`. */
INLINE void pack_across(const gemm_matrix *m, int64_t at, int64_t stride, int64_t lines,
                        int64_t capacity, int64_t k, int32_t dtype, unit *to, int64_t wide)
{
    uint16_t part[DEEP][LINES] = {{0}};
    for (int64_t j = 0; j < k; j += DEEP, to += wide) {
        for (int64_t i = 0; i < DEEP; i++)
            if (j + i < k)
                load(m, at + (j + i) * stride, lines, dtype, part[i]);
            else
                memset(part[i], 0, sizeof part[i]);
        for (int64_t l = 0; l < capacity; l++)
            for (int i = 0; i < DEEP; i++)
                to[l].of[i] = part[i][l];
    }
}

/* Panels of `high` of the `lines` lines, each with room for `wide`.  `stride` is from line to line, `along` along K. */
INLINE void pack_of(int64_t wide, int64_t high, int64_t lines, int64_t k, const gemm_matrix *m,
                    int64_t stride, int64_t along, int32_t dtype, float *panels)
{
    unit *to = (unit *)(void *)panels;
    for (int64_t i = 0; i < lines; i += high, to += (k + DEEP - 1) / DEEP * wide) {
        const int64_t n = lines - i < high ? lines - i : high;
        if (along != 1)
            pack_across(m, i, along, n, wide, k, dtype, to, wide);
        for (int64_t l = 0; l < wide && along == 1; l++) /* beyond `lines` the last one again */
            pack_along(m, (i + (l < n ? l : n - 1)) * stride, k, dtype, to + l, wide);
    }
}

static void pack_a(int64_t high, int64_t rows, int64_t k, const gemm_matrix *a, float *to)
{
    if (a->dtype == TUTTI_BF16)
        pack_of(ROWS, high, rows, k, a, a->row, a->col, TUTTI_BF16, to);
    else
        pack_of(ROWS, high, rows, k, a, a->row, a->col, TUTTI_F32, to);
}

static void pack_b(int64_t wide, int64_t k, int64_t cols, const gemm_matrix *b, float *to)
{
    (void)wide; /* COLS */
    if (b->dtype == TUTTI_BF16)
        pack_of(COLS, COLS, cols, k, b, b->col, b->row, TUTTI_BF16, to);
    else
        pack_of(COLS, COLS, cols, k, b, b->col, b->row, TUTTI_F32, to);
}

const gemm_microkernel gemm_microkernel_bf16 = {.rows = ROWS,
                                                .cols = COLS,
                                                .step = 2,
                                                .panel = ROWS,
                                                .deep = 2,
                                                .grain = GRAIN,
                                                .words = 384,
                                                .tile = tiles,
                                                .pack_a = pack_a,
                                                .pack_b = pack_b};
#endif
