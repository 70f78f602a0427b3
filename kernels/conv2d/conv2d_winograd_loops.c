/* conv2d_winograd_loops.c - Winograd's transforms and products, sixteen channels at a time. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/simd_transpose.h"
#include "conv2d/conv2d_numbers.h"
#include "conv2d/conv2d_winograd.h"

enum { WORDS = WINOGRAD_WORDS, WIDE = WINOGRAD_WIDE };

/* ---- filters ---- */

INLINE void spread_filter(const f32x16 *a, const f32x16 *b, const f32x16 *c, f32x16 *ret)
{
    const f32x16 ends = 0.5f * (*a + *c), middle = 0.5f * *b;
    ret[0] = *a;
    ret[1] = ends + middle;
    ret[2] = ends - middle;
    ret[3] = *c;
}

/* G w G^T of sixteen channels, which lie at w. */
INLINE void filter(const char *w, int32_t dtype, int64_t c_count, int flipped, f32x16 *ret)
{
    const int64_t tap = bytes_of(dtype, c_count) * (flipped ? -1 : 1);
    const char *first = flipped ? w - 8 * tap : w;
    f32x16 column[3][4];
    for (int v = 0; v < 3; v++) {
        f32x16 x[3];
        for (int u = 0; u < 3; u++)
            load(first + (3 * u + v) * tap, dtype, &x[u]);
        spread_filter(&x[0], &x[1], &x[2], column[v]);
    }
    for (int i = 0; i < 4; i++)
        spread_filter(&column[0][i], &column[1][i], &column[2][i], ret + (ptrdiff_t)4 * i);
}

/* Pairs along C: words of eight outputs transposed so that these lie next to each other. */
INLINE void filters_along_c(const char *w, int32_t dtype, int64_t c_count, int64_t wide,
                            int64_t point, float *u)
{
    const int64_t row = bytes_of(dtype, 9 * c_count);
    for (int64_t c = 0; c < c_count; c += LANES) {
        f32x16 at[WINOGRAD_POINTS];
        f32x8 words[WINOGRAD_POINTS][8];
        for (int o = 0; o < 8; o++) {
            filter(w + o * row + bytes_of(dtype, c), dtype, c_count, 0, at);
            for (int e = 0; e < WINOGRAD_POINTS; e++)
                narrow(&at[e], &words[e][o]);
        }
        for (int e = 0; e < WINOGRAD_POINTS; e++)
            simd_transpose_8x8(words[e], u + e * point + c / 2 * wide, wide);
    }
}

/* Pairs along O, of o and o + 1. */
INLINE void filters_along_o(const char *w, int32_t dtype, int64_t c_count, int64_t o_count,
                            int64_t o, int64_t point, float *u)
{
    const int64_t row = bytes_of(dtype, 9 * c_count);
    for (int64_t c = 0; c < c_count; c += LANES) {
        const int64_t panel = c / WIDE * WIDE, wide = width_of(panel, c_count, WIDE);
        const char *from = w + bytes_of(dtype, c);
        float *to = u + panel * o_count / 2 + o / 2 * wide + c - panel;
        f32x16 low[WINOGRAD_POINTS], high[WINOGRAD_POINTS];
        filter(from, dtype, c_count, 1, low);
        filter(from + row, dtype, c_count, 1, high);
        for (int e = 0; e < WINOGRAD_POINTS; e++)
            pair(&low[e], &high[e], to + e * point);
    }
}

INLINE void filters_of(const char *w, int32_t dtype, int64_t c_count, int64_t o_count,
                       int64_t o, int flipped, int64_t point, float *u)
{
    const int64_t row = bytes_of(dtype, 9 * c_count);
    for (int64_t k = o; k < o + LANES && flipped; k += 2)
        filters_along_o(w + k * row, dtype, c_count, o_count, k, point, u);
    for (int64_t k = o; k < o + LANES && !flipped; k += 8) {
        const int64_t panel = k / WIDE * WIDE;
        filters_along_c(w + k * row, dtype, c_count, width_of(panel, o_count, WIDE), point,
                        u + panel * c_count / 2 + k - panel);
    }
}

static void filters(const void *w, int32_t dtype, int64_t c_count, int64_t o_count, int64_t o,
                    int flipped, int64_t point, float *u)
{
    if (dtype == TUTTI_BF16)
        filters_of(w, TUTTI_BF16, c_count, o_count, o, flipped, point, u);
    else
        filters_of(w, TUTTI_F32, c_count, o_count, o, flipped, point, u);
}

/* ---- images ---- */

/* What becomes of a tile's number at a point: words along channels; the first of a pair of tiles, which waits; or the
 * second one, which makes words of both. */
enum { ALONG, FIRST, SECOND };

typedef struct sink {
    int64_t point;
    float *to;
    f32x16 waiting[WINOGRAD_POINTS];
} sink;

INLINE void put(sink *s, int how, int e, const f32x16 *v)
{
    if (how == ALONG)
        narrow(v, s->to + e * s->point);
    else if (how == FIRST)
        s->waiting[e] = *v;
    else
        pair(&s->waiting[e], v, s->to + e * s->point);
}

/* Where `count` lines of a row of tiles begin, channel c; NULL outside of the image. */
INLINE void lines_of(const winograd_images *x, const void *data, int64_t row, int count,
                     int64_t c, const char **ret)
{
    const int64_t image = row / x->high, top = row % x->high * 2 + x->top;
    for (int i = 0; i < count; i++) {
        const int64_t y = top + i;
        const int64_t at = (image * x->h + y) * x->w * x->c + c;
        ret[i] = y >= 0 && y < x->h ? (const char *)data + bytes_of(x->dtype, at) : (void *)0;
    }
}

INLINE void pixel(const winograd_images *x, const char *line, int64_t j, int32_t dtype,
                  f32x16 *ret)
{
    if (line && j >= 0 && j < x->w)
        load(line + bytes_of(dtype, j * x->c), dtype, ret);
    else
        *ret = (f32x16){0};
}

/* For what the next row of tiles is the first to read, if `last` is the last line of this one; a line of a cache has
 * two blocks of channels of bf16. */
INLINE void ask(const winograd_images *x, const char *last, int64_t t, int32_t dtype)
{
    const char *soon = last ? last + bytes_of(dtype, (x->w + 2 * t) * x->c) : NULL;
    for (int i = 0; i < 4 && soon; i++)
        __builtin_prefetch(soon + bytes_of(dtype, (i / 2 * x->w + i % 2) * x->c));
}

INLINE void patch_transform(const f32x16 *a, const f32x16 *b, const f32x16 *c, const f32x16 *d,
                            f32x16 *ret)
{
    ret[0] = *a - *c;
    ret[1] = *b + *c;
    ret[2] = *c - *b;
    ret[3] = *d - *b;
}

INLINE void patch_column(const winograd_images *x, const char *const *line, int64_t j,
                         int32_t dtype, f32x16 *ret)
{
    f32x16 v[4];
    GEMM_UNROLL for (int i = 0; i < 4; i++)
    {
        pixel(x, line[i], j, dtype, &v[i]);
    }
    patch_transform(&v[0], &v[1], &v[2], &v[3], ret);
}

/* B^T x B of a tile whose columns are transformed. */
INLINE void patch_points(f32x16 (*column)[4], int how, sink *s)
{
    GEMM_UNROLL for (int i = 0; i < 4; i++)
    {
        f32x16 v[4];
        patch_transform(&column[0][i], &column[1][i], &column[2][i], &column[3][i], v);
        GEMM_UNROLL for (int j = 0; j < 4; j++)
        {
            put(s, how, 4 * i + j, &v[j]);
        }
    }
}

/* The last two columns of a tile are the first two of the next one. */
INLINE void next_columns(f32x16 (*column)[4])
{
    GEMM_UNROLL for (int i = 0; i < 8; i++)
    {
        column[i / 4][i % 4] = column[2 + i / 4][i % 4];
    }
}

/* A dy A^T of a tile of dy. */
INLINE void result_points(const winograd_images *x, const char *const *line, int64_t j,
                          int32_t dtype, int how, sink *s)
{
    f32x16 column[2][4];
    for (int k = 0; k < 2; k++) {
        f32x16 a, b;
        pixel(x, line[0], j + k, dtype, &a);
        pixel(x, line[1], j + k, dtype, &b);
        column[k][0] = a;
        column[k][1] = a + b;
        column[k][2] = a - b;
        column[k][3] = b;
    }
    for (int i = 0; i < 4; i++) {
        const f32x16 a = column[0][i], b = column[1][i], sum = a + b, difference = a - b;
        put(s, how, 4 * i, &a);
        put(s, how, 4 * i + 1, &sum);
        put(s, how, 4 * i + 2, &difference);
        put(s, how, 4 * i + 3, &b);
    }
}

INLINE void patches_of(const winograd_images *x, const winograd_block *b, int64_t row,
                       const void *data, int32_t dtype, int64_t point, float *v)
{
    sink s = {.point = point};
    for (int64_t c = 0; c < x->c; c += LANES) {
        const char *line[4];
        f32x16 column[4][4];
        lines_of(x, data, b->first + row, 4, c, line);
        s.to = v + (c / LANES * b->most + row * x->wide) * WORDS;
        patch_column(x, line, x->left, dtype, column[0]);
        patch_column(x, line, x->left + 1, dtype, column[1]);
        for (int64_t t = 0; t < x->wide; t++, s.to += WORDS) {
            patch_column(x, line, x->left + 2 * t + 2, dtype, column[2]);
            patch_column(x, line, x->left + 2 * t + 3, dtype, column[3]);
            if (c % (2 * LANES) == 0)
                ask(x, line[3], t, dtype);
            patch_points(column, ALONG, &s);
            next_columns(column);
        }
    }
}

static void patches(const winograd_images *x, const winograd_block *b, int64_t row,
                    const void *data, int64_t point, float *v)
{
    if (x->dtype == TUTTI_BF16)
        patches_of(x, b, row, data, TUTTI_BF16, point, v);
    else
        patches_of(x, b, row, data, TUTTI_F32, point, v);
}

/* One row; tiles with an odd number complete a pair. */
INLINE void pair_row(const winograd_images *x, const char *const *line, int32_t dtype,
                     int patch, int64_t tile, int64_t wide, int asks, sink *s)
{
    f32x16 column[4][4];
    if (patch) {
        patch_column(x, line, x->left, dtype, column[0]);
        patch_column(x, line, x->left + 1, dtype, column[1]);
    }
    for (int64_t t = 0; t < x->wide; t++, tile++) {
        const int64_t j = x->left + 2 * t;
        const int how = tile % 2 ? SECOND : FIRST;
        if (asks)
            ask(x, line[patch ? 3 : 1], t, dtype);
        if (patch) {
            patch_column(x, line, j + 2, dtype, column[2]);
            patch_column(x, line, j + 3, dtype, column[3]);
        }
        if (patch && how == FIRST)
            patch_points(column, FIRST, s);
        else if (patch)
            patch_points(column, SECOND, s);
        else if (how == FIRST)
            result_points(x, line, j, dtype, FIRST, s);
        else
            result_points(x, line, j, dtype, SECOND, s);
        if (patch)
            next_columns(column);
        s->to += how == SECOND ? wide : 0;
    }
}

INLINE void pairs_of(const winograd_images *x, const winograd_block *b, int64_t row, int patch,
                     int64_t columns, const void *data, int32_t dtype, int64_t point, float *v)
{
    const f32x16 zero = {0};
    const int64_t end = row + 2 < b->rows ? row + 2 : b->rows;
    sink s = {.point = point};
    for (int64_t c = 0; c < x->c; c += LANES) {
        const int64_t panel = c / columns * columns, wide = width_of(panel, x->c, columns);
        s.to = v + panel * b->most / 2 + row * x->wide / 2 * wide + c - panel;
        for (int64_t r = row; r < end; r++) {
            const char *line[4];
            lines_of(x, data, b->first + r, patch ? 4 : 2, c, line);
            pair_row(x, line, dtype, patch, r * x->wide, wide, c % (2 * LANES) == 0, &s);
        }
        for (int e = 0; e < WINOGRAD_POINTS && end * x->wide % 2; e++) /* one without another */
            put(&s, SECOND, e, &zero);
    }
}

static void pairs(const winograd_images *x, const winograd_block *b, int64_t row, int patch,
                  int64_t columns, const void *data, int64_t point, float *v)
{
    if (x->dtype == TUTTI_BF16 && patch)
        pairs_of(x, b, row, 1, columns, data, TUTTI_BF16, point, v);
    else if (x->dtype == TUTTI_BF16)
        pairs_of(x, b, row, 0, columns, data, TUTTI_BF16, point, v);
    else if (patch)
        pairs_of(x, b, row, 1, columns, data, TUTTI_F32, point, v);
    else
        pairs_of(x, b, row, 0, columns, data, TUTTI_F32, point, v);
}

/* ---- products ---- */

GEMM_MICROKERNEL_LOOP(loop, f32x16, FMA)

/* Rows (tiles) by `vecs` vectors of outputs, over blocks of channels. */
INLINE void gemm_rows(int rows, int vecs, int64_t blocks, const float *a, int64_t a_block,
                      const float *b, float *y, int64_t y_row)
{
    f32x16 acc[GEMM_MAX_ROWS][GEMM_MAX_VECS];
    GEMM_UNROLL for (int r = 0; r < rows; r++)
    {
        for (int v = 0; v < vecs; v++)
            acc[r][v] = (f32x16){0};
    }
    for (int64_t k = 0; k < blocks; k++, a += a_block, b += (ptrdiff_t)WORDS * vecs * LANES)
        loop(rows, vecs, WORDS, a, WORDS, 1, b, (ptrdiff_t)vecs * LANES, GEMM_AHEAD, acc);
    GEMM_UNROLL for (int r = 0; r < rows; r++)
    {
        for (int v = 0; v < vecs; v++)
            *(f32x16 *)(y + r * y_row + (ptrdiff_t)v * LANES) = acc[r][v];
    }
}

typedef void gemm_rows_function(int64_t blocks, const float *a, int64_t a_block, const float *b,
                                float *y, int64_t y_row);

#if defined(__AVX512BF16__)
#define TILES(M) M(1) M(2) M(3) M(4) M(5) M(6) M(7) M(8) M(9) M(10) M(11) M(12) M(13) M(14)
#else
#define TILES(M) M(1) M(2)
#endif
#define TILE(rows)                                                                             \
    static void gemm_##rows(int64_t blocks, const float *a, int64_t a_block, const float *b,   \
                            float *y, int64_t y_row)                                           \
    {                                                                                          \
        gemm_rows(rows, 1, blocks, a, a_block, b, y, y_row);                                   \
    }                                                                                          \
    static void gemm_wide_##rows(int64_t blocks, const float *a, int64_t a_block,              \
                                 const float *b, float *y, int64_t y_row)                      \
    {                                                                                          \
        gemm_rows(rows, 2, blocks, a, a_block, b, y, y_row);                                   \
    }
#define TILE_AT(rows) [rows] = {gemm_##rows, gemm_wide_##rows},
TILES(TILE)
static gemm_rows_function *const gemm_variants[][2] = {TILES(TILE_AT)};

static void products(int64_t tiles, int64_t most, int64_t ins, int64_t outs, const float *v,
                     const float *u, float *m)
{
    const int64_t panels = (tiles + ROWS - 1) / ROWS, high = (tiles + panels - 1) / panels;
    for (int64_t o = 0; o < outs; o += WIDE)
        for (int64_t t = 0; t < tiles; t += high) {
            const int64_t rows = tiles - t < high ? tiles - t : high;
            gemm_variants[rows][outs - o > LANES](ins / LANES, v + t * WORDS, most * WORDS,
                                                  u + o * ins / 2, m + t * outs + o, outs);
        }
}

/* ---- results ---- */

INLINE void store(const f32x16 *x, int32_t dtype, char *to)
{
    if (dtype == TUTTI_BF16)
        narrow(x, to);
    else
        *(f32x16 *)to = *x;
}

/* A^T m A of one tile, sixteen channels. */
INLINE void result_tile(const winograd_images *y, char *const *line, int64_t j, int32_t dtype,
                        const float *m, int64_t point, const f32x16 *bias)
{
    f32x16 s[2][4];
    for (int k = 0; k < 4; k++) {
        const f32x16 a = *(const f32x16 *)(m + k * point);
        const f32x16 b = *(const f32x16 *)(m + (4 + k) * point);
        const f32x16 c = *(const f32x16 *)(m + (8 + k) * point);
        const f32x16 d = *(const f32x16 *)(m + (12 + k) * point);
        s[0][k] = a + b + c;
        s[1][k] = b - c + d;
    }
    for (int i = 0; i < 2; i++) {
        const f32x16 left = s[i][0] + s[i][1] + s[i][2] + *bias;
        const f32x16 right = s[i][1] - s[i][2] + s[i][3] + *bias;
        if (!line[i])
            continue;
        store(&left, dtype, line[i] + bytes_of(dtype, j * y->c));
        if (j + 1 < y->w)
            store(&right, dtype, line[i] + bytes_of(dtype, (j + 1) * y->c));
    }
}

INLINE void results_of(const winograd_images *y, const winograd_block *b, int64_t row,
                       const float *m, int64_t point, const float *bias, void *data,
                       int32_t dtype)
{
    const char *first[2];
    char *line[2];
    lines_of(y, data, b->first + row, 2, 0, first);
    for (int64_t t = 0; t < y->wide; t++)
        for (int64_t c = 0; c < y->c; c += LANES) {
            f32x16 start = {0};
            if (bias)
                start = *(const f32x16 *)(bias + c);
            for (int i = 0; i < 2; i++)
                line[i] = first[i] ? (char *)(uintptr_t)first[i] + bytes_of(dtype, c) : NULL;
            result_tile(y, line, 2 * t, dtype, m + (row * y->wide + t) * y->c + c, point,
                        &start);
        }
}

static void results(const winograd_images *y, const winograd_block *b, int64_t row,
                    const float *m, int64_t point, const float *bias, void *data)
{
    if (y->dtype == TUTTI_BF16)
        results_of(y, b, row, m, point, bias, data, TUTTI_BF16);
    else
        results_of(y, b, row, m, point, bias, data, TUTTI_F32);
}

INLINE void join_weights(const f32x16 *a, const f32x16 *b, const f32x16 *c, const f32x16 *d,
                         f32x16 *ret)
{
    const f32x16 sum = 0.5f * (*b + *c);
    ret[0] = *a + sum;
    ret[1] = 0.5f * (*b - *c);
    ret[2] = sum + *d;
}

static void weights(int64_t o, int64_t c_count, const float *sum, int64_t point, int32_t dtype,
                    void *dw)
{
    for (int64_t c = 0; c < c_count; c += LANES) {
        f32x16 column[4][3];
        for (int k = 0; k < 4; k++) {
            const float *at = sum + k * point + o * c_count + c;
            join_weights((const f32x16 *)at, (const f32x16 *)(at + 4 * point),
                         (const f32x16 *)(at + 8 * point), (const f32x16 *)(at + 12 * point),
                         column[k]);
        }
        for (int u = 0; u < 3; u++) {
            f32x16 w[3];
            join_weights(&column[0][u], &column[1][u], &column[2][u], &column[3][u], w);
            for (int v = 0; v < 3; v++)
                store(&w[v], dtype,
                      (char *)dw + bytes_of(dtype, ((o * 3 + u) * 3 + v) * c_count + c));
        }
    }
}

const conv2d_winograd_loops conv2d_winograd = {filters, patches, products,
                                               results, pairs,   weights};
