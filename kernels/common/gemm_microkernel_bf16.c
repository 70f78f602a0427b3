/* gemm_microkernel_bf16.c - the GEMM micro-kernel for bf16 factors and f32 sums: pairs along K, vdpbf16ps. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/gemm_microkernel_loop.h"

#if defined(__AVX512BF16__)
#include "tutti/tensor.h"

#include <immintrin.h>
#include <string.h>

#define INLINE SIMD_INLINE

/* Rows to be packed come from memory. */
enum { ROWS_AHEAD = 8, ROWS = 14, COLS = 32 };

/* ---- tiles ---- */

GEMM_MICROKERNEL_LOOP(loop, f32x16, GEMM_FMA_BF16)
GEMM_PACKED_TILE(tile, f32x16, loop)

#define TILES(M) M(1) M(2) M(3) M(4) M(5) M(6) M(7) M(8) M(9) M(10) M(11) M(12) M(13) M(14)
#define TILE(rows)                                                                             \
    static void tile_##rows(int64_t words, const float *a, const float *b, const float *start, \
                            float *y, int64_t y_row)                                           \
    {                                                                                          \
        tile(rows, words, a, b, start, y, y_row);                                              \
    }
#define TILE_AT(rows) [rows] = tile_##rows,
TILES(TILE)
static gemm_tile *const tiles[] = {TILES(TILE_AT)};

/* ---- panels ---- */

/* Sixteen pairs: bf16 of `low` in the lower halves, of `high` in the upper ones. */
INLINE __m512i interleave(__m512i both)
{
    const __m512i turns =
        _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7,
                         22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
    return _mm512_permutexvar_epi16(turns, both);
}

/* Where element `at` of a matrix lies. */
INLINE const char *place(const gemm_matrix *m, int64_t at)
{
    return (const char *)m->data + at * (m->dtype == TUTTI_BF16 ? 2 : 4);
}

/* The first n of sixteen. */
INLINE __mmask16 first_of(int64_t n)
{
    return (__mmask16)(n >= 16 ? 0xFFFFu : (1u << n) - 1u);
}

/* The first n of sixteen numbers at `from` as bf16; zeros behind them. */
INLINE __m256i load_bf16(const char *from, int32_t dtype, int64_t n)
{
    if (dtype == TUTTI_BF16)
        return _mm256_maskz_loadu_epi16(first_of(n), from);
    return (__m256i)_mm512_cvtneps_pbh(_mm512_maskz_loadu_ps(first_of(n), from));
}

/* Words of k [0, words) of `lines` (16 at most) rows of numbers that lie one after the other along K: word j of
 * line i goes to to[j * to_row + i].  The last line again beyond them. */
INLINE void along(int64_t lines, int64_t k, const gemm_matrix *m, int64_t first, int64_t stride,
                  int32_t dtype, float *to, int64_t to_row)
{
    const char *line[16];
    const int64_t size = dtype == TUTTI_BF16 ? 2 : 4;
    for (int64_t i = 0; i < 16; i++)
        line[i] = place(m, first + (i < lines ? i : lines - 1) * stride);
    for (int64_t j = 0; j < k; j += 16) {
        const int64_t n = k - j < 16 ? k - j : 16, words = (n + 1) / 2;
        f32x8 x[8];
        float rest[8 * 16];
        float *at = words == 8 ? to + j / 2 * to_row : rest;
        const int64_t row = words == 8 ? to_row : 16;
        for (int half = 0; half < 2; half++) {
            for (int i = 0; i < 8; i++) {
                const char *from = line[8 * half + i] + j * size;
                __builtin_prefetch(from + 16 * stride * size);
                x[i] = (f32x8)load_bf16(from, dtype, n);
            }
            simd_transpose_8x8(x, at + 8 * half, row);
        }
        for (int64_t w = 0; w < words && at == rest; w++)
            memcpy(to + (j / 2 + w) * to_row, rest + w * 16, 16 * sizeof *to);
    }
}

/* Sixteen pairs of the numbers at `low` and, a row of k later, at `high` (NULL: beyond K); n of them count.  Numbers in
 * f32 are rounded together: clang 18 cannot join two halves of bf16. */
INLINE __m512i across(const char *low, const char *high, int32_t dtype, int64_t n)
{
    const __mmask16 highs = high ? first_of(n) : 0;
    if (dtype == TUTTI_F32)
        return interleave((__m512i)_mm512_cvtne2ps_pbh(
            _mm512_maskz_loadu_ps(highs, high), _mm512_maskz_loadu_ps(first_of(n), low)));
    const __m256i a = _mm256_maskz_loadu_epi16(first_of(n), low);
    const __m256i b = _mm256_maskz_loadu_epi16(highs, high);
    return interleave(_mm512_inserti64x4(_mm512_castsi256_si512(a), b, 1));
}

INLINE void pack_a_of(int64_t high, int64_t rows, int64_t k, const gemm_matrix *a,
                      int32_t dtype, float *to)
{
    const int64_t words = (k + 1) / 2, size = dtype == TUTTI_BF16 ? 2 : 4;
    for (int64_t i = 0; i < rows && a->row != 1; i += high)
        along(rows - i < high ? rows - i : high, k, a, i * a->row, a->row, dtype,
              to + i / high * words * GEMM_A, GEMM_A);
    for (int64_t j = 0; j < k && a->row == 1; j += 2) {
        const char *low = place(a, j * a->col);
        const char *next = j + 1 < k ? low + a->col * size : NULL;
        for (int64_t i = 0; i < rows; i += high) {
            const int64_t n = rows - i < high ? rows - i : high;
            __builtin_prefetch(low + (ROWS_AHEAD * a->col + i) * size);
            _mm512_storeu_si512(
                to + (i / high * words + j / 2) * GEMM_A,
                across(low + i * size, next ? next + i * size : NULL, dtype, n));
        }
    }
}

static void pack_a(int64_t high, int64_t rows, int64_t k, const gemm_matrix *a, float *to)
{
    if (a->dtype == TUTTI_BF16)
        pack_a_of(high, rows, k, a, TUTTI_BF16, to);
    else
        pack_a_of(high, rows, k, a, TUTTI_F32, to);
}

INLINE void pack_b_of(int64_t k, int64_t cols, const gemm_matrix *b, int32_t dtype, float *to)
{
    const int64_t words = (k + 1) / 2, size = dtype == TUTTI_BF16 ? 2 : 4;
    for (int64_t j = 0; j < cols && b->col != 1;
         j += 16) { /* beyond `cols` the last one again */
        float *at = to + j / COLS * COLS * words + j % COLS;
        along(cols - j < 16 ? cols - j : 16, k, b, j * b->col, b->col, dtype, at, COLS);
        if (cols - j <= 16 && j % COLS == 0)
            along(1, k, b, (cols - 1) * b->col, b->col, dtype, at + 16, COLS);
    }
    for (int64_t i = 0; i < k && b->col == 1; i += 2) {
        const char *low = place(b, i * b->row);
        const char *next = i + 1 < k ? low + b->row * size : NULL;
        for (int64_t j = 0; j < cols; j += COLS)
            for (int64_t r = j; r < j + COLS; r += 16) {
                const int64_t n = cols - r < 0 ? 0 : cols - r < 16 ? cols - r : 16;
                __builtin_prefetch(low + (ROWS_AHEAD * b->row + r) * size);
                _mm512_storeu_si512(
                    to + j * words + i / 2 * COLS + r - j,
                    across(low + r * size, next ? next + r * size : NULL, dtype, n));
            }
    }
}

static void pack_b(int64_t wide, int64_t k, int64_t cols, const gemm_matrix *b, float *to)
{
    (void)wide; /* COLS */
    if (b->dtype == TUTTI_BF16)
        pack_b_of(k, cols, b, TUTTI_BF16, to);
    else
        pack_b_of(k, cols, b, TUTTI_F32, to);
}

const gemm_microkernel gemm_microkernel_bf16 = {ROWS, COLS,  GEMM_A, 2,
                                                1,    tiles, pack_a, pack_b};
#else
const gemm_microkernel gemm_microkernel_bf16 = {0};
#endif
