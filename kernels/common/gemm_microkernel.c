/* gemm_microkernel.c - the GEMM micro-kernel: packed panels, and tiles of y from them in registers. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/gemm_microkernel.h"
#include "common/op_util.h"

#include <string.h>

/* Numbers of k by which loads are ahead: b's panel comes from the second cache, rows to be packed from
 * memory. */
enum { AHEAD = 16, ROWS_AHEAD = 8, SPREAD = 24 };

typedef float sixteen __attribute__((vector_size(64), aligned(4)));
typedef float eight __attribute__((vector_size(32), aligned(4)));

#define INLINE static inline __attribute__((always_inline))
#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

/* rows x 2 registers of sums while k runs; `rows` is a constant after inlining.  Lines of y are asked
 * for one row at a time: a core can wait for a dozen lines, and b's come that way too. */
#define SUMS(name, lanes, LANES)                                                               \
    INLINE void name(int rows, int64_t k, const float *a, const float *b, const float *start,  \
                     float *y, int64_t y_row)                                                  \
    {                                                                                          \
        lanes sum[GEMM_MAX_ROWS][2];                                                           \
        const float *soon = y;                                                                 \
        const int64_t apart = k < rows ? 1 : k < rows * SPREAD ? k / rows : SPREAD;            \
        UNROLL for (int r = 0; r < rows; r++)                                                  \
        {                                                                                      \
            const lanes zero = {0};                                                            \
            sum[r][0] = start ? *(const lanes *)start : zero;                                  \
            sum[r][1] = start ? *(const lanes *)(start + LANES) : zero;                        \
        }                                                                                      \
        for (int64_t left = k; left > 0; left -= apart) {                                      \
            __builtin_prefetch(soon, 1);                                                       \
            __builtin_prefetch(soon + 2 * LANES - 1, 1);                                       \
            soon = soon < y + (rows - 1) * y_row ? soon + y_row : soon;                        \
            for (int64_t i = left < apart ? left : apart; i > 0; i--) {                        \
                const lanes b0 = *(const lanes *)b, b1 = *(const lanes *)(b + LANES);          \
                __builtin_prefetch(b + AHEAD * 2 * LANES);                                     \
                __builtin_prefetch(b + AHEAD * 2 * LANES + LANES);                             \
                UNROLL for (int r = 0; r < rows; r++)                                          \
                {                                                                              \
                    const lanes x = a[r] - (lanes){0};                                         \
                    sum[r][0] += x * b0;                                                       \
                    sum[r][1] += x * b1;                                                       \
                }                                                                              \
                a += GEMM_A;                                                                   \
                b += 2 * LANES;                                                                \
            }                                                                                  \
        }                                                                                      \
        UNROLL for (int r = 0; r < rows; r++)                                                  \
        {                                                                                      \
            lanes *to = (lanes *)(y + r * y_row), *next = (lanes *)(y + r * y_row + LANES);    \
            *to = start ? sum[r][0] : *to + sum[r][0];                                         \
            *next = start ? sum[r][1] : *next + sum[r][1];                                     \
        }                                                                                      \
    }

/* What the level of this translation unit has registers for. */
#if defined(__AVX512F__)
SUMS(sums_of, sixteen, 16)
#define TILES(M) M(1) M(2) M(3) M(4) M(5) M(6) M(7) M(8) M(9) M(10) M(11) M(12) M(13) M(14)
enum { ROWS = 14, COLS = 32 };
#elif defined(__AVX2__) && defined(__FMA__)
SUMS(sums_of, eight, 8)
#define TILES(M) M(1) M(2) M(3) M(4) M(5) M(6)
enum { ROWS = 6, COLS = 16 };
#else
enum { ROWS = 0, COLS = 0 };
#endif

#if defined(TILES)
#define TILE(rows)                                                                             \
    static void tile_##rows(int64_t k, const float *a, const float *b, const float *start,     \
                            float *y, int64_t y_row)                                           \
    {                                                                                          \
        sums_of(rows, k, a, b, start, y, y_row);                                               \
    }
#define TILE_AT(rows) [rows] = tile_##rows,
TILES(TILE)
static gemm_tile *const tiles[] = {TILES(TILE_AT)};
#else
static gemm_tile *const tiles[] = {NULL};
#endif

#define MIX __builtin_shufflevector

/* to[j * to_row + i] = row[i][at + j], 8 by 8. */
INLINE void turn(const float *const row[8], int64_t at, float *to, int64_t to_row)
{
    eight x[8], y[8];
    for (int i = 0; i < 8; i++)
        x[i] = *(const eight *)(row[i] + at);
    for (int i = 0; i < 8; i += 2) {
        y[i] = MIX(x[i], x[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
        y[i + 1] = MIX(x[i], x[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
    }
    for (int i = 0; i < 8; i += 4) {
        x[i] = MIX(y[i], y[i + 2], 0, 1, 8, 9, 4, 5, 12, 13);
        x[i + 1] = MIX(y[i], y[i + 2], 2, 3, 10, 11, 6, 7, 14, 15);
        x[i + 2] = MIX(y[i + 1], y[i + 3], 0, 1, 8, 9, 4, 5, 12, 13);
        x[i + 3] = MIX(y[i + 1], y[i + 3], 2, 3, 10, 11, 6, 7, 14, 15);
    }
    for (int i = 0; i < 4; i++) {
        *(eight *)(to + i * to_row) = MIX(x[i], x[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
        *(eight *)(to + (i + 4) * to_row) = MIX(x[i], x[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
    }
}

/* to[j * to_row + i] = from[i * stride + j], j < n, i < 16: a whole line of the cache at a time.  The
 * last of `rows` again beyond them. */
INLINE void turn_rows(int64_t rows, int64_t n, const float *from, int64_t stride, float *to,
                      int64_t to_row)
{
    const float *row[16];
    int64_t j = 0;
    for (int i = 0; i < 16; i++)
        row[i] = from + (i < rows ? i : rows - 1) * stride;
    for (; j + 8 <= n; j += 8) {
        for (int i = j % 16 ? 8 : 0; i < (j % 16 ? 16 : 8); i++)
            __builtin_prefetch(row[i] + j + 16 * stride); /* the next rows */
        turn(row, j, to + j * to_row, to_row);
        turn(row + 8, j, to + j * to_row + 8, to_row);
    }
    for (; j < n; j++)
        for (int i = 0; i < 16; i++)
            to[j * to_row + i] = row[i][j];
}

static void pack_a(int64_t high, int64_t rows, int64_t k, const float *a, int64_t a_row,
                   int64_t a_col, float *to)
{
    enum { MOST = GEMM_MAX_ROWS };
    const int64_t panel = k * GEMM_A, whole = high == MOST ? rows / MOST : 0;
    for (int64_t i = 0; i < rows && a_row != 1; i += high)
        turn_rows(rows - i < high ? rows - i : high, k, a + i * a_row, a_row,
                  to + i / high * panel, GEMM_A);
    for (int64_t j = 0; j < k && a_row == 1; j++) {
        const float *from = a + j * a_col;
        float *at = to + j * GEMM_A;
        for (int64_t i = 0; i < rows; i += 16)
            __builtin_prefetch(from + ROWS_AHEAD * a_col + i);
        for (int64_t i = 0; i < whole; i++)
            memcpy(at + i * panel, from + i * MOST, MOST * sizeof *a);
        for (int64_t i = whole * high; i < rows; i += high)
            for (int64_t r = 0; r < high && i + r < rows; r++)
                at[i / high * panel + r] = from[i + r];
    }
}

static void pack_b(int64_t wide, int64_t k, int64_t cols, const float *b, int64_t b_row,
                   int64_t b_col, float *to)
{
    enum { MOST = GEMM_MAX_COLS };
    const int64_t whole = wide == MOST ? cols / MOST : 0;
    for (int64_t j = 0; j < cols && b_col != 1; j += wide)
        for (int64_t r = 0; r < wide; r += 16) { /* beyond `cols` the last one again */
            const int64_t c = j + r < cols ? j + r : cols - 1;
            turn_rows(cols - c, k, b + c * b_col, b_col, to + j * k + r, wide);
        }
    for (int64_t i = 0; i < k && b_col == 1; i++) {
        const float *from = b + i * b_row;
        for (int64_t j = 0; j < cols; j += 16)
            __builtin_prefetch(from + ROWS_AHEAD * b_row + j);
        for (int64_t j = 0; j < whole; j++)
            memcpy(to + (j * k + i) * MOST, from + j * MOST, MOST * sizeof *b);
        for (int64_t j = whole * MOST; j < cols; j += wide) {
            const int64_t n = cols - j < wide ? cols - j : wide;
            memcpy(to + j * k + i * wide, from + j, (size_t)n * sizeof *b);
            memset(to + j * k + i * wide + n, 0, (size_t)(wide - n) * sizeof *b);
        }
    }
}

const gemm_units gemm_units_here = {ROWS, COLS, tiles, pack_a, pack_b};
