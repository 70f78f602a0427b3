/* sdpa_tiles.c - products of tiles, and the rows of exponentials between them. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/fastmath.h"
#include "sdpa/sdpa.h"

#define INLINE static inline __attribute__((always_inline))

/* 24 of 32 registers hold results: 6 rows of 4, or 12 of 2. */
enum { LANES = SDPA_LANES, TILE = SDPA_TILE, ROWS = 12, VECS = 4 };

typedef float lanes __attribute__((vector_size(4 * LANES), aligned(4), may_alias));

/* rows x vecs registers of c (constants after inlining) stay while k runs. */
INLINE void block(const sdpa_product *p, int rows, int vecs, const float *a, const float *b,
                  float *c, int add)
{
    lanes acc[ROWS][VECS];
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < vecs; v++)
            acc[r][v] = add ? *(const lanes *)(c + r * p->c_row + v * LANES) : (lanes){0};
    for (int64_t k = 0; k < p->k; k++) {
        lanes x[VECS];
        for (int v = 0; v < vecs; v++)
            x[v] = *(const lanes *)(b + k * p->b_row + v * LANES);
        for (int r = 0; r < rows; r++) {
            const float w = a[r * p->a_row + k * p->a_col];
            for (int v = 0; v < vecs; v++)
                acc[r][v] += w * x[v];
        }
    }
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < vecs; v++)
            *(lanes *)(c + r * p->c_row + v * LANES) = acc[r][v];
}

/* All rows of `vecs` registers' columns in blocks of at most `most`, nearly equal. */
INLINE void panel(const sdpa_product *p, int vecs, int most, const float *a, const float *b,
                  float *c, int add)
{
    const int64_t blocks = (p->m + most - 1) / most;
    for (int64_t k = 0, i = 0; k < blocks; k++) {
        const int64_t end = p->m * (k + 1) / blocks;
        const float *from = a + i * p->a_row;
        float *to = c + i * p->c_row;
#define ROWS_CASE(n)                                                                           \
    case n:                                                                                    \
        block(p, n, vecs, from, b, to, add);                                                   \
        break
        switch (end - i) {
            ROWS_CASE(1);
            ROWS_CASE(2);
            ROWS_CASE(3);
            ROWS_CASE(4);
            ROWS_CASE(5);
            ROWS_CASE(6);
            ROWS_CASE(7);
            ROWS_CASE(8);
            ROWS_CASE(9);
            ROWS_CASE(10);
            ROWS_CASE(11);
            ROWS_CASE(12);
        }
#undef ROWS_CASE
        i = end;
    }
}

OP_SIMD void sdpa_multiply(const sdpa_product *p, const float *a, const float *b, float *c,
                           int add)
{
    int64_t j = 0;
    for (; j + 4 * LANES <= p->n; j += 4 * LANES)
        panel(p, 4, 6, a, b + j, c + j, add);
    for (; j + 2 * LANES <= p->n; j += 2 * LANES)
        panel(p, 2, ROWS, a, b + j, c + j, add);
    for (; j < p->n; j += LANES)
        panel(p, 1, ROWS, a, b + j, c + j, add);
}

/* Where in (a, b) each lane of the two results of a step of a transpose comes from: blocks of `half`
 * lanes change places. */
#define SWAP(a, b, half)                                                                       \
    do {                                                                                       \
        const lanes low = __builtin_shufflevector((a), (b), PAIR16(half, 0));                  \
        (b) = __builtin_shufflevector((a), (b), PAIR16(half, half));                           \
        (a) = low;                                                                             \
    } while (0)
#define FROM(half, off, i) (((i) / (half)) % 2 ? 16 + (i) - (half) + (off) : (i) + (off))
#define PAIR4(h, o, i)                                                                         \
    FROM(h, o, i), FROM(h, o, (i) + 1), FROM(h, o, (i) + 2), FROM(h, o, (i) + 3)
#define PAIR16(h, o) PAIR4(h, o, 0), PAIR4(h, o, 4), PAIR4(h, o, 8), PAIR4(h, o, 12)

/* to (16, 16 of TILE columns) = scale times the transpose of 16 rows of x */
INLINE void transpose16(const float *x, int64_t row, float scale, float *to)
{
    lanes r[LANES];
    for (int k = 0; k < LANES; k++)
        r[k] = *(const lanes *)(x + k * row) * scale;
    for (int k = 0; k < 8; k++)
        SWAP(r[k], r[k + 8], 8);
    for (int k = 0; k < 8; k++)
        SWAP(r[k + (k & 4)], r[k + (k & 4) + 4], 4);
    for (int k = 0; k < 8; k++)
        SWAP(r[k + (k & 6)], r[k + (k & 6) + 2], 2);
    for (int k = 0; k < 8; k++)
        SWAP(r[2 * k], r[2 * k + 1], 1);
    for (int k = 0; k < LANES; k++)
        *(lanes *)(to + k * TILE) = r[k];
}

OP_SIMD void sdpa_pack_transposed(const float *x, int64_t row, int64_t n, int64_t d,
                                  float scale, float *to)
{
    int64_t j = 0;
    for (; j + LANES <= n; j += LANES) {
        int64_t i = 0;
        for (; i + LANES <= d; i += LANES)
            transpose16(x + j * row + i, row, scale, to + i * TILE + j);
        for (; i < d; i++)
            for (int k = 0; k < LANES; k++)
                to[i * TILE + j + k] = scale * x[(j + k) * row + i];
    }
    for (int64_t i = 0; i < d && j < TILE; i++)
        for (int64_t k = j; k < TILE; k++)
            to[i * TILE + k] = k < n ? scale * x[k * row + i] : 0.0f;
}

OP_SIMD void sdpa_pack_rows(const float *x, int64_t row, int64_t n, int64_t d, int64_t width,
                            float scale, float *to)
{
    for (int64_t j = 0; j < n; j++, x += row, to += width) {
        int64_t i = 0;
        for (; i + LANES <= d; i += LANES)
            *(lanes *)(to + i) = *(const lanes *)(x + i) * scale;
        for (; i < d; i++)
            to[i] = scale * x[i];
        for (; i < width; i++)
            to[i] = 0.0f;
    }
}

OP_SIMD float sdpa_softmax_row(float *s, int64_t seen, float *max, float *sum)
{
    float most = *max;
    for (int64_t j = seen; j < TILE; j++)
        s[j] = s[0];
#pragma omp simd reduction(max : most)
    for (int j = 0; j < TILE; j++)
        most = s[j] > most ? s[j] : most;
    const float shift = most == -INFINITY ? 0.0f : most; /* nothing seen yet */
    OP_LOOP for (int j = 0; j < TILE; j++)
    {
        s[j] = fast_exp(s[j] - shift);
    }
    for (int64_t j = seen; j < TILE; j++)
        s[j] = 0.0f;
    const float shrink = fast_exp(*max - shift);
    float total = 0.0f;
#pragma omp simd reduction(+ : total)
    for (int j = 0; j < TILE; j++)
        total += s[j];
    *max = most;
    *sum = *sum * shrink + total;
    return shrink;
}

OP_SIMD void sdpa_grad_row(float *p, float *ds, int64_t seen, float lse, float delta)
{
    for (int64_t j = seen; j < TILE; j++)
        p[j] = lse;
    OP_LOOP for (int j = 0; j < TILE; j++)
    {
        p[j] = fast_exp(p[j] - lse);
        ds[j] = p[j] * (ds[j] - delta);
    }
    for (int64_t j = seen; j < TILE; j++)
        p[j] = ds[j] = 0.0f;
}

OP_SIMD void sdpa_scale_row(float *x, float scale, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        x[i] *= scale;
}

OP_SIMD double sdpa_dot(const float *x, const float *y, int64_t n)
{
    double lane[8] = {0}, sum = 0.0;
    int64_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (int k = 0; k < 8; k++)
            lane[k] += (double)x[i + k] * (double)y[i + k];
    for (int k = 0; i < n; i++, k++)
        lane[k] += (double)x[i] * (double)y[i];
    for (int k = 0; k < 8; k++)
        sum += lane[k];
    return sum;
}
