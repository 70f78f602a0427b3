/* gemm_microkernel_amx.h - the GEMM micro-kernel with AMX: bf16 factors, or f16 ones with PAIRS_F16, and f32 sums. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_COMMON_GEMM_MICROKERNEL_AMX_H
#define KERNELS_COMMON_GEMM_MICROKERNEL_AMX_H

#include "common/amx.h"
#include "common/gemm_microkernel.h"

#if defined(AMX_HERE)
#include "common/gemm_pack_pairs.h"

#define INLINE SIMD_INLINE

enum { HALF = AMX_ROWS, ROWS = 2 * HALF, COLS = 2 * HALF, GRAIN = AMX_WORDS };

/* ---- tiles ---- */

static void enter(void)
{
    amx_begin();
}

static void leave(void)
{
    amx_end();
}

INLINE void copy_rows(int64_t rows, const float *from, int64_t from_row, float *to,
                      int64_t to_row)
{
    for (int64_t i = 0; i < rows; i++)
        memcpy(to + i * to_row, from + i * from_row, COLS * sizeof *to);
}

/* Asks for the lines of y, to write them: they come while the tile is multiplied. */
INLINE void fetch_sums(int64_t rows, const float *y, int64_t y_row)
{
    for (int64_t i = 0; i < rows; i++) {
        __builtin_prefetch(y + i * y_row, 1);
        __builtin_prefetch(y + i * y_row + AMX_WORDS, 1);
    }
}

/* 16 or 32 rows by 32 columns.  `high` is a constant after inlining. */
INLINE void whole_tile(int high, int64_t words, const float *a, const float *b,
                       const float *start, float *y, int64_t y_row)
{
    const int64_t row = y_row * (int64_t)sizeof *y;
    if (start)
        fetch_sums(high ? ROWS : HALF, y, y_row);
    if (start)
        amx_load_sums(high, 1, start, 0);
    else
        amx_load_sums(high, 1, y, row);
    amx_multiply(high, 1, words, a, AMX_LINE, GRAIN * ROWS, b, COLS * (int64_t)sizeof *b);
    amx_store_sums(high, 1, y, row);
}

/* Numbers of rows that are no multiple of 16 go through a copy. */
INLINE void tile(int64_t rows, int64_t words, const float *a, const float *b,
                 const float *start, float *y, int64_t y_row)
{
    float copy[ROWS * COLS];
    const int whole = rows % HALF == 0;
    float *to = whole ? y : copy;
    const int64_t to_row = whole ? y_row : COLS;
    if (!whole && !start)
        copy_rows(rows, y, y_row, copy, COLS);
    AMX_WRITTEN();
    if (rows > HALF)
        whole_tile(1, words, a, b, start, to, to_row);
    else
        whole_tile(0, words, a, b, start, to, to_row);
    if (!whole)
        copy_rows(rows, copy, COLS, y, y_row);
}

#define EIGHT(M, a, b, c, d, e, f, g, h) M(a) M(b) M(c) M(d) M(e) M(f) M(g) M(h)
#define TILES(M)                                                                               \
    EIGHT(M, 1, 2, 3, 4, 5, 6, 7, 8)                                                           \
    EIGHT(M, 9, 10, 11, 12, 13, 14, 15, 16)                                                    \
    EIGHT(M, 17, 18, 19, 20, 21, 22, 23, 24) EIGHT(M, 25, 26, 27, 28, 29, 30, 31, 32)
GEMM_TILES(TILES);

/* ---- panels ---- */

/* a's panel: for every GRAIN words of K 32 rows of so many words. */

/* One row of numbers that are neighbours along K. */
INLINE void row_along(const gemm_matrix *a, int64_t row, int64_t k, int32_t dtype, float *to)
{
    const int64_t size = gemm_number_bytes(dtype);
    const char *from = gemm_place(a, row * a->row);
    for (int64_t j = 0; j < k; j += 2 * GRAIN, to += GRAIN * ROWS) {
        const int64_t n = k - j;
        __builtin_prefetch(from + (8 * a->row + j) * size);
        const char *at = from + j * size;
        _mm512_storeu_si512(to,
                            gemm_load_two(at, n, at + 16 * size, n > 16 ? n - 16 : 0, dtype));
    }
}

/* 16 rows that are neighbours, by GRAIN words of K from `at`. */
INLINE void rows_across(const gemm_matrix *a, int64_t row, int64_t rows, int64_t at, int64_t k,
                        int32_t dtype, float *to)
{
    const int64_t size = gemm_number_bytes(dtype);
    for (int half = 0; half < 2; half++) {
        f32x8 low[8], high[8];
        for (int i = 0; i < 8; i++) {
            const int64_t j = at + 16 * half + 2 * i;
            const char *from = gemm_place(a, j * a->col + row);
            __m512i words = _mm512_setzero_si512();
            if (j < k)
                words = gemm_across(from, j + 1 < k ? from + a->col * size : NULL, dtype, rows);
            __builtin_prefetch(from + 2 * GRAIN * a->col * size);
            low[i] = (f32x8)_mm512_castsi512_si256(words);
            high[i] = (f32x8)_mm512_extracti64x4_epi64(words, 1);
        }
        simd_transpose_8x8(low, to + 8 * half, GRAIN);
        simd_transpose_8x8(high, to + 8 * GRAIN + 8 * half, GRAIN);
    }
}

INLINE void pack_a_of(int64_t high, int64_t rows, int64_t k, const gemm_matrix *a,
                      int32_t dtype, float *to)
{
    const int64_t words = (k + 2 * GRAIN - 1) / (2 * GRAIN) * GRAIN;
    for (int64_t i = 0; i < rows; i += high, to += words * ROWS) {
        const int64_t some = rows - i < high ? rows - i : high;
        for (int64_t r = 0; r < some && a->row != 1; r++)
            row_along(a, i + r, k, dtype, to + r * GRAIN);
        for (int64_t j = 0; j < k && a->row == 1; j += 2 * GRAIN)
            for (int64_t r = 0; r < some; r += HALF)
                rows_across(a, i + r, some - r, j, k, dtype, to + j / 2 * ROWS + r * GRAIN);
    }
}

static void pack_a(int64_t high, int64_t rows, int64_t k, const gemm_matrix *a, float *to)
{
    if (a->dtype == GEMM_PAIRS)
        pack_a_of(high, rows, k, a, GEMM_PAIRS, to);
    else
        pack_a_of(high, rows, k, a, TUTTI_F32, to);
}

static void pack_b(int64_t wide, int64_t k, int64_t cols, const gemm_matrix *b, float *to)
{
    (void)wide; /* COLS */
    gemm_pack_columns(COLS, GRAIN, k, cols, b, to);
}

/* What a source of the micro-kernel gives its name. */
#define AMX_MICROKERNEL                                                                        \
    {                                                                                          \
        .rows = ROWS, .cols = COLS, .step = HALF, .panel = ROWS, .deep = 2, .grain = GRAIN,    \
        .words = 256, .tile = tiles, .pack_a = pack_a, .pack_b = pack_b, .enter = enter,       \
        .leave = leave                                                                         \
    }
#endif

#endif
