/* conv2d_pairs_loops.c - packing pairs of pixels, and sums of their products. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "conv2d/conv2d_numbers.h"
#include "conv2d/conv2d_pairs.h"

/* ---- packing ---- */

/* Sixteen channels from c on of a row: pixels with an odd number complete a pair. */
INLINE void pack_row(const pairs_images *x, const char *line, int32_t dtype, int64_t number,
                     int64_t wide, f32x16 *waiting, float *to)
{
    const int64_t pixel = bytes_of(dtype, x->c);
    for (int64_t j = 0; j < x->wide; j++, number++) {
        const int64_t at = j * x->sw + x->left;
        f32x16 v = {0};
        if (line && at >= 0 && at < x->w)
            load(line + at * pixel, dtype, &v);
        if (number % 2)
            pair(waiting, &v, to + number / 2 * wide);
        else
            *waiting = v;
    }
}

INLINE void pack_of(const pairs_images *x, int64_t first, int64_t row, int64_t end,
                    int64_t most, int64_t columns, const void *data, int32_t dtype, float *to)
{
    const f32x16 zero = {0};
    const int64_t last = row + 2 < end ? row + 2 : end;
    for (int64_t c = 0; c < x->c; c += LANES) {
        const int64_t panel = c / columns * columns, wide = width_of(panel, x->c, columns);
        float *at = to + panel * most / 2 + c - panel;
        f32x16 waiting = zero;
        for (int64_t r = row; r < last; r++) {
            const int64_t image = (first + r) / x->high;
            const int64_t i = (first + r) % x->high * x->sh + x->top;
            const char *line =
                (const char *)data + bytes_of(dtype, (image * x->h + i) * x->w * x->c + c);
            pack_row(x, i >= 0 && i < x->h ? line : NULL, dtype, r * x->wide, wide, &waiting,
                     at);
        }
        if (last * x->wide % 2)
            pair(&waiting, &zero, at + last * x->wide / 2 * wide);
    }
}

static void pack(const pairs_images *x, int64_t first, int64_t row, int64_t end, int64_t most,
                 int64_t columns, const void *data, float *to)
{
    if (x->dtype == TUTTI_BF16)
        pack_of(x, first, row, end, most, columns, data, TUTTI_BF16, to);
    else
        pack_of(x, first, row, end, most, columns, data, TUTTI_F32, to);
}

/* ---- products ---- */

GEMM_MICROKERNEL_LOOP(loop, f32x16, FMA)

/* Rows (outputs) by `vecs` vectors of channels, over pairs of tiles. */
INLINE void sum_tile(int rows, int vecs, int64_t words, const float *a, const float *b,
                     int start, float *y, int64_t y_row)
{
    f32x16 acc[GEMM_MAX_ROWS][GEMM_MAX_VECS];
    GEMM_UNROLL for (int r = 0; r < rows; r++)
    {
        for (int v = 0; v < vecs; v++) {
            const f32x16 zero = {0};
            const float *at = y + r * y_row + (ptrdiff_t)v * LANES;
            acc[r][v] = start ? zero : *(const f32x16 *)at;
        }
    }
    loop(rows, vecs, words, a, 1, LANES, b, (ptrdiff_t)vecs * LANES, GEMM_AHEAD, acc);
    GEMM_UNROLL for (int r = 0; r < rows; r++)
    {
        for (int v = 0; v < vecs; v++)
            *(f32x16 *)(y + r * y_row + (ptrdiff_t)v * LANES) = acc[r][v];
    }
}

/* Asks for the sums of the eight outputs that come next, while products of these are added up. */
INLINE void ask_for(const float *y, int64_t y_row)
{
    GEMM_UNROLL for (int r = 0; r < 8; r++)
    {
        __builtin_prefetch(y + r * y_row, 1);
        __builtin_prefetch(y + r * y_row + LANES, 1);
    }
}

static void sums(int64_t words, int64_t most, int64_t c, int64_t c_count, int64_t o_count,
                 const float *d, const float *v, int start, float *sum, int64_t sum_row)
{
    const float *b = v + c * most / 2;
    for (int64_t o = 0; o < o_count; o += LANES) {
        const float *a = d + o * most / 2;
        float *y = sum + o * sum_row + c;
        if (c_count - c > LANES) {
            ask_for(y + 8 * sum_row, sum_row);
            sum_tile(8, 2, words, a, b, start, y, sum_row);
            ask_for(y + 16 * sum_row, sum_row);
            sum_tile(8, 2, words, a + 8, b, start, y + 8 * sum_row, sum_row);
        } else {
            sum_tile(16, 1, words, a, b, start, y, sum_row);
        }
    }
}

const conv2d_pairs_loops conv2d_pairs = {pack, sums};
