/* gemm_microkernel.c - the GEMM micro-kernel for f32: packs panels and keeps tiles of y in registers. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/gemm_microkernel_loop.h"
#include "common/op_util.h"
#include "common/simd_transpose.h"

#include <string.h>

/* Rows to be packed come from memory. */
enum { ROWS_AHEAD = 8 };

#define INLINE SIMD_INLINE

/* What the level of this translation unit has registers for. */
#if defined(__AVX512F__)
GEMM_MICROKERNEL_LOOP(loop, f32x16, GEMM_FMA_F32)
GEMM_PACKED_TILE(tile, f32x16, 2, loop)
#define TILES(M) M(1) M(2) M(3) M(4) M(5) M(6) M(7) M(8) M(9) M(10) M(11) M(12) M(13) M(14)
enum { ROWS = 14, COLS = 32 };
#elif defined(__AVX2__) && defined(__FMA__)
GEMM_MICROKERNEL_LOOP(loop, f32x8, GEMM_FMA_F32)
GEMM_PACKED_TILE(tile, f32x8, 2, loop)
#define TILES(M) M(1) M(2) M(3) M(4) M(5) M(6)
enum { ROWS = 6, COLS = 16 };
#elif defined(SIMD_SVE512)
GEMM_MICROKERNEL_LOOP(loop, f32x16, GEMM_FMA_F32)
GEMM_PACKED_TILE(tile, f32x16, 2, loop)
#if defined(                                                                                   \
    __clang__) /* 14 copies sums from register to register at every turn from 12 rows on */
#define TILES(M) M(1) M(2) M(3) M(4) M(5) M(6) M(7) M(8) M(9) M(10)
enum { ROWS = 10, COLS = 32 };
#else
#define TILES(M) M(1) M(2) M(3) M(4) M(5) M(6) M(7) M(8) M(9) M(10) M(11) M(12) M(13) M(14)
enum { ROWS = 14, COLS = 32 };
#endif
#elif defined(__aarch64__)
/* As GEMM_MICROKERNEL_LOOP for packed panels.  NEON multiplies by a lane: words of a come as two registers, so that
 * these, four of b and 24 of sums are 30 of the 32. */
INLINE void loop(int rows, int vecs, int64_t k, const float *a, int64_t a_row, int64_t a_col,
                 const float *b, int64_t b_row, int64_t ahead, simd_f32 (*acc)[GEMM_MAX_VECS])
{
    (void)a_row; /* 1 */
    for (int64_t i = 0; i < k; i++, a += a_col, b += b_row) {
        const simd_f32 *at = (const simd_f32 *)a, w[2] = {at[0], at[1]};
        simd_f32 x[GEMM_MAX_VECS];
        for (int v = 0; v < vecs; v++)
            x[v] = *(const simd_f32 *)(b + v * SIMD_WIDTH);
        __builtin_prefetch(b + ahead * b_row);
        GEMM_UNROLL for (int r = 0; r < rows; r++)
        {
            for (int v = 0; v < vecs; v++)
                acc[r][v] += w[r / SIMD_WIDTH][r % SIMD_WIDTH] * x[v];
        }
    }
}
GEMM_PACKED_TILE(tile, simd_f32, 4, loop)
#define TILES(M) M(1) M(2) M(3) M(4) M(5) M(6)
enum { ROWS = 6, COLS = 16 };
#else
enum { ROWS = 0, COLS = 0 };
#endif

#if defined(TILES)
GEMM_TILES(TILES);
#else
static gemm_tile *const tiles[] = {NULL};
#endif

/* to[j * to_row + i] = row[i][at + j], 8 by 8. */
INLINE void transpose(const float *const row[8], int64_t at, float *to, int64_t to_row)
{
    f32x8 x[8];
    for (int i = 0; i < 8; i++)
        x[i] = *(const f32x8 *)(row[i] + at);
    simd_transpose_8x8(x, to, to_row);
}

/* to[j * to_row + i] = from[i * stride + j], j < n, i < 16: a whole line of the cache at a time.  The
 * last of `rows` again beyond them. */
INLINE void transpose_rows(int64_t rows, int64_t n, const float *from, int64_t stride,
                           float *to, int64_t to_row)
{
    const float *row[16];
    int64_t j = 0;
    for (int i = 0; i < 16; i++)
        row[i] = from + (i < rows ? i : rows - 1) * stride;
    for (; j + 8 <= n; j += 8) {
        for (int i = j % 16 ? 8 : 0; i < (j % 16 ? 16 : 8); i++)
            __builtin_prefetch(row[i] + j + 16 * stride); /* the next rows */
        transpose(row, j, to + j * to_row, to_row);
        transpose(row + 8, j, to + j * to_row + 8, to_row);
    }
    for (; j < n; j++)
        for (int i = 0; i < 16; i++)
            to[j * to_row + i] = row[i][j];
}

static void pack_a(int64_t high, int64_t rows, int64_t k, const gemm_matrix *from, float *to)
{
    enum { MOST = ROWS ? ROWS : 1 };
    const float *a = from->data;
    const int64_t a_row = from->row, a_col = from->col;
    const int64_t panel = k * GEMM_A, whole = high == MOST ? rows / MOST : 0;
    for (int64_t i = 0; i < rows && a_row != 1; i += high)
        transpose_rows(rows - i < high ? rows - i : high, k, a + i * a_row, a_row,
                       to + i / high * panel, GEMM_A);
    for (int64_t j = 0; j < k && a_row == 1; j++) {
        const float *line = a + j * a_col;
        float *at = to + j * GEMM_A;
        for (int64_t i = 0; i < rows; i += 16)
            __builtin_prefetch(line + ROWS_AHEAD * a_col + i);
        for (int64_t i = 0; i < whole; i++)
            memcpy(at + i * panel, line + i * MOST, MOST * sizeof *a);
        for (int64_t i = whole * high; i < rows; i += high)
            for (int64_t r = 0; r < high && i + r < rows; r++)
                at[i / high * panel + r] = line[i + r];
    }
}

static void pack_b(int64_t wide, int64_t k, int64_t cols, const gemm_matrix *from, float *to)
{
    enum { MOST = COLS ? COLS : 1 };
    const float *b = from->data;
    const int64_t b_row = from->row, b_col = from->col;
    const int64_t whole = wide == MOST ? cols / MOST : 0;
    for (int64_t j = 0; j < cols && b_col != 1; j += wide)
        for (int64_t r = 0; r < wide; r += 16) { /* beyond `cols` the last one again */
            const int64_t c = j + r < cols ? j + r : cols - 1;
            transpose_rows(cols - c, k, b + c * b_col, b_col, to + j * k + r, wide);
        }
    for (int64_t i = 0; i < k && b_col == 1; i++) {
        const float *line = b + i * b_row;
        for (int64_t j = 0; j < cols; j += 16)
            __builtin_prefetch(line + ROWS_AHEAD * b_row + j);
        for (int64_t j = 0; j < whole; j++)
            memcpy(to + (j * k + i) * MOST, line + j * MOST, MOST * sizeof *b);
        for (int64_t j = whole * MOST; j < cols; j += wide) {
            const int64_t n = cols - j < wide ? cols - j : wide;
            memcpy(to + j * k + i * wide, line + j, (size_t)n * sizeof *b);
            memset(to + j * k + i * wide + n, 0, (size_t)(wide - n) * sizeof *b);
        }
    }
}

const gemm_microkernel gemm_microkernel_f32 = {.rows = ROWS,
                                               .cols = COLS,
                                               .step = 1,
                                               .panel = GEMM_A,
                                               .deep = 1,
                                               .grain = 1,
                                               .words = 384,
                                               .tile = tiles,
                                               .pack_a = pack_a,
                                               .pack_b = pack_b};
