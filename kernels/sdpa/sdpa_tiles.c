/* sdpa_tiles.c - attention's tiles: GEMMs by the micro-kernel, and rows of exponentials between them. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/amx.h"
#include "common/fastmath.h"
#include "common/gemm_microkernel_loop.h"
#include "common/half.h"
#include "common/simd_transpose.h"
#include "sdpa/sdpa.h"

#define INLINE SIMD_INLINE

/* Sums of products of pairs, where there are registers for that.  No instruction below AMX multiplies f16 and sums in
 * f32: what a tile register does not fill is converted. */
#if defined(PAIRS_F16) && defined(__AVX512F__)
#include <immintrin.h>

INLINE __m512 low_halves(__m512i words)
{
    return _mm512_cvtph_ps(_mm512_cvtepi32_epi16(words));
}

INLINE __m512 add_products(__m512 acc, __m512i x, __m512i b)
{
    acc = _mm512_fmadd_ps(low_halves(x), low_halves(b), acc);
    return _mm512_fmadd_ps(low_halves(_mm512_srli_epi32(x, 16)),
                           low_halves(_mm512_srli_epi32(b, 16)), acc);
}

#define FMA_PAIRS(acc, x, b)                                                                   \
    ((acc) = (f32x16)add_products((__m512)(acc), _mm512_set1_epi32((int32_t)fast_bits(*(x))),  \
                                  (__m512i)(b)))
#elif !defined(PAIRS_F16) && defined(GEMM_FMA_BF16)
#define FMA_PAIRS GEMM_FMA_BF16
#endif

GEMM_MICROKERNEL_LOOP(loop, simd_f32, GEMM_FMA_F32)
#if defined(FMA_PAIRS)
GEMM_MICROKERNEL_LOOP(loop_pairs, simd_f32, FMA_PAIRS)
#define LOOP(pairs, ...) ((pairs) ? loop_pairs(__VA_ARGS__) : loop(__VA_ARGS__))
#else
#define LOOP(pairs, ...) loop(__VA_ARGS__)
#endif

/* Of AVX-512's 32 registers 24 hold results where four of columns go together, else 16, as of NEON's; of 16 registers
 * 12 do. */
enum { TILE = SDPA_TILE, ROWS = 6, VECS = 4, HIGH = SIMD_REGISTERS == 32 ? 8 : 6 };

/* rows x vecs registers of c (constants after inlining, as `pairs`) stay while k runs. */
INLINE void block(const sdpa_gemm *p, int pairs, int rows, int vecs, const float *a,
                  const float *b, float *c, int add)
{
    simd_f32 acc[HIGH][GEMM_MAX_VECS];
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < vecs; v++)
            acc[r][v] =
                add ? *(const simd_f32 *)(c + r * p->c_row + v * SIMD_WIDTH) : (simd_f32){0};
    LOOP(pairs, rows, vecs, p->k, a, p->a_row, p->a_col, b, p->b_row, 0, acc);
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < vecs; v++)
            *(simd_f32 *)(c + r * p->c_row + v * SIMD_WIDTH) = acc[r][v];
}

/* All rows of two registers' columns, or of one. */
INLINE void panel(const sdpa_gemm *p, int pairs, int vecs, const float *a, const float *b,
                  float *c, int add)
{
    int64_t i = 0;
    for (; i + HIGH <= p->m; i += HIGH)
        block(p, pairs, HIGH, vecs, a + i * p->a_row, b, c + i * p->c_row, add);
    for (; i + 2 <= p->m; i += 2)
        block(p, pairs, 2, vecs, a + i * p->a_row, b, c + i * p->c_row, add);
    for (; i < p->m; i++)
        block(p, pairs, 1, vecs, a + i * p->a_row, b, c + i * p->c_row, add);
}

/* All rows of four registers' columns. */
INLINE void wide_panel(const sdpa_gemm *p, int pairs, const float *a, const float *b, float *c,
                       int add)
{
    int64_t i = 0;
    for (; i + ROWS <= p->m; i += ROWS)
        block(p, pairs, ROWS, VECS, a + i * p->a_row, b, c + i * p->c_row, add);
    if (i + 4 <= p->m) {
        block(p, pairs, 4, VECS, a + i * p->a_row, b, c + i * p->c_row, add);
        i += 4;
    }
    for (; i < p->m; i++)
        block(p, pairs, 1, VECS, a + i * p->a_row, b, c + i * p->c_row, add);
}

INLINE void gemm(const sdpa_gemm *p, int pairs, const float *a, const float *b, float *c,
                 int add)
{
    int64_t j = 0;
    for (; SIMD_WIDTH == 16 && j + VECS * SIMD_WIDTH <= p->n; j += VECS * SIMD_WIDTH)
        wide_panel(p, pairs, a, b + j, c + j, add);
    for (; j + 2 * SIMD_WIDTH <= p->n; j += 2 * SIMD_WIDTH)
        panel(p, pairs, 2, a, b + j, c + j, add);
    for (; j < p->n; j += SIMD_WIDTH)
        panel(p, pairs, 1, a, b + j, c + j, add);
}

void sdpa_gemm_run(const sdpa_gemm *p, const float *a, const float *b, float *c, int add)
{
    gemm(p, 0, a, b, c, add);
}

#if defined(AMX_HERE)
/* 16 or 32 rows by 16 or 32 columns (high, wide: constants after inlining). */
INLINE void amx_block(const sdpa_gemm *p, int high, int wide, int64_t words, const float *a,
                      int64_t a_row, const float *b, float *c, int add)
{
    const int64_t size = sizeof *a;
    if (add)
        amx_load_sums(high, wide, c, p->c_row * size);
    else
        amx_zero_sums(high, wide);
    amx_multiply(high, wide, words, a, a_row * size, AMX_WORDS, b, p->b_row * size);
    amx_store_sums(high, wide, c, p->c_row * size);
}

/* 16 or 32 rows by all columns. */
INLINE void amx_rows(const sdpa_gemm *p, int high, int64_t words, const float *a, int64_t a_row,
                     const float *b, float *c, int add)
{
    int64_t j = 0;
    for (; j + AMX_WORDS < p->n; j += 2 * AMX_WORDS)
        amx_block(p, high, 1, words, a, a_row, b + j, c + j, add);
    if (j < p->n)
        amx_block(p, high, 0, words, a, a_row, b + j, c + j, add);
}

/* to (m, words) = a, where a's rows are neighbours. */
INLINE void transpose_a(const sdpa_gemm *p, int64_t m, int64_t words, const float *a, float *to)
{
    for (int64_t i = 0; i < m; i += 8)
        for (int64_t w = 0; w < words; w += 8) {
            f32x8 x[8];
            for (int64_t k = 0; k < 8; k++)
                x[k] = *(const f32x8 *)(a + (w + k) * p->a_col + i);
            simd_transpose_8x8(x, to + i * words + w, words);
        }
}

/* The first m rows of c and `words` words of k, multiples of 16 both. */
INLINE void amx_product(const sdpa_gemm *p, int64_t m, int64_t words, const float *a,
                        const float *b, float *c, int add)
{
    float transposed[TILE * TILE / 2];
    int64_t a_row = p->a_row, i = 0;
    if (p->a_col != 1) {
        transpose_a(p, m, words, a, transposed);
        a = transposed;
        a_row = words;
    }
    AMX_WRITTEN();
    for (; i + 2 * AMX_ROWS <= m; i += 2 * AMX_ROWS)
        amx_rows(p, 1, words, a + i * a_row, a_row, b, c + i * p->c_row, add);
    if (i < m)
        amx_rows(p, 0, words, a + i * a_row, a_row, b, c + i * p->c_row, add);
}

/* What is less than a tile register goes by registers of AVX-512. */
void sdpa_gemm_pairs_run(const sdpa_gemm *p, const float *a, const float *b, float *c, int add)
{
    const int64_t m = p->m / AMX_ROWS * AMX_ROWS, words = p->k / AMX_WORDS * AMX_WORDS;
    sdpa_gemm rest = *p;
    if (m == 0 || words == 0 || (p->a_col != 1 && words > TILE / 2)) {
        gemm(p, 1, a, b, c, add);
        return;
    }
    amx_product(p, m, words, a, b, c, add);
    rest.m = m;
    rest.k = p->k - words;
    if (rest.k)
        gemm(&rest, 1, a + words * p->a_col, b + words * p->b_row, c, 1);
    rest.m = p->m - m;
    rest.k = p->k;
    if (rest.m)
        gemm(&rest, 1, a + m * p->a_row, b, c + m * p->c_row, add);
}
#elif defined(FMA_PAIRS)
void sdpa_gemm_pairs_run(const sdpa_gemm *p, const float *a, const float *b, float *c, int add)
{
    gemm(p, 1, a, b, c, add);
}
#else
#if defined(PAIRS_F16)
#define NUMBER half_from_f16
#else
#define NUMBER half_from_bf16
#endif

/* The halves of a word. */
INLINE void halves(const float *word, float ret[2])
{
    const uint32_t bits = fast_bits(*word);
    ret[0] = NUMBER((uint16_t)bits);
    ret[1] = NUMBER((uint16_t)(bits >> 16));
}

/* A model of the instruction, for tests of the rest where a CPU lacks it. */
void sdpa_gemm_pairs_run(const sdpa_gemm *p, const float *a, const float *b, float *c, int add)
{
    for (int64_t i = 0; i < p->m; i++)
        for (int64_t j = 0; j < p->n; j++) {
            float sum = add ? c[i * p->c_row + j] : 0.0f, x[2], y[2];
            for (int64_t k = 0; k < p->k; k++) {
                halves(a + i * p->a_row + k * p->a_col, x);
                halves(b + k * p->b_row + j, y);
                sum += x[1] * y[1];
                sum += x[0] * y[0];
            }
            c[i * p->c_row + j] = sum;
        }
}
#endif

/* Where in (a, b) each lane of the two results of a step of a transpose comes from: blocks of `half`
 * lanes change places. */
#define SWAP(a, b, half)                                                                       \
    do {                                                                                       \
        const f32x16 low = __builtin_shufflevector((a), (b), PAIR16(half, 0));                 \
        (b) = __builtin_shufflevector((a), (b), PAIR16(half, half));                           \
        (a) = low;                                                                             \
    } while (0)
#define FROM(half, off, i) (((i) / (half)) % 2 ? 16 + (i) - (half) + (off) : (i) + (off))
#define PAIR4(h, o, i)                                                                         \
    FROM(h, o, i), FROM(h, o, (i) + 1), FROM(h, o, (i) + 2), FROM(h, o, (i) + 3)
#define PAIR16(h, o) PAIR4(h, o, 0), PAIR4(h, o, 4), PAIR4(h, o, 8), PAIR4(h, o, 12)

/* to (16, 16 of TILE columns) = the transpose of 16 rows of x, times scale if `scales` */
INLINE void transpose16(const float *x, int64_t row, int scales, float scale, float *to)
{
    f32x16 r[SIMD_LANES];
    for (int k = 0; k < SIMD_LANES; k++)
        r[k] = scales ? *(const f32x16 *)(x + k * row) * scale : *(const f32x16 *)(x + k * row);
    for (int k = 0; k < 8; k++)
        SWAP(r[k], r[k + 8], 8);
    for (int k = 0; k < 8; k++)
        SWAP(r[k + (k & 4)], r[k + (k & 4) + 4], 4);
    for (int k = 0; k < 8; k++)
        SWAP(r[k + (k & 6)], r[k + (k & 6) + 2], 2);
    for (int k = 0; k < 8; k++)
        SWAP(r[2 * k], r[2 * k + 1], 1);
    for (int k = 0; k < SIMD_LANES; k++)
        *(f32x16 *)(to + k * TILE) = r[k];
}

INLINE void transpose(const float *x, int64_t row, int64_t n, int64_t d, int scales,
                      float scale, float *to)
{
    int64_t j = 0;
    for (; j + SIMD_LANES <= n; j += SIMD_LANES) {
        int64_t i = 0;
        for (; i + SIMD_LANES <= d; i += SIMD_LANES)
            transpose16(x + j * row + i, row, scales, scale, to + i * TILE + j);
        for (; i < d; i++)
            for (int k = 0; k < SIMD_LANES; k++) {
                const float v = x[(j + k) * row + i];
                to[i * TILE + j + k] = scales ? scale * v : v;
            }
    }
    for (int64_t i = 0; i < d && j < TILE; i++)
        for (int64_t k = j; k < TILE; k++) {
            const float v = k < n ? x[k * row + i] : 0.0f;
            to[i * TILE + k] = scales && k < n ? scale * v : v;
        }
}

void sdpa_pack_transposed(const float *x, int64_t row, int64_t n, int64_t d, float scale,
                          float *to)
{
    transpose(x, row, n, d, 1, scale, to);
}

void sdpa_pack_words(const float *x, int64_t row, int64_t n, int64_t words, float *to)
{
    transpose(x, row, n, words, 0, 1.0f, to);
}

void sdpa_pack_rows(const float *x, int64_t row, int64_t n, int64_t d, int64_t width,
                    float scale, float *to)
{
    for (int64_t j = 0; j < n; j++, x += row, to += width) {
        int64_t i = 0;
        for (; i + SIMD_LANES <= d; i += SIMD_LANES)
            *(f32x16 *)(to + i) = *(const f32x16 *)(x + i) * scale;
        for (; i < d; i++)
            to[i] = scale * x[i];
        for (; i < width; i++)
            to[i] = 0.0f;
    }
}

/* Whole registers with something seen. */
INLINE int64_t used(int64_t seen)
{
    return (seen + SIMD_LANES - 1) / SIMD_LANES * SIMD_LANES;
}

/* The exponentials exp(s - *max) of a row, of which the first n are read and `seen` stay; n is TILE most
 * often, and then a constant.  The result is their sum. */
INLINE float exponentials(float *s, int64_t n, int64_t seen, float *max)
{
    float most = *max;
    f32x16 lanes = {0};
#pragma omp simd reduction(max : most)
    for (int64_t j = 0; j < n; j++)
        most = s[j] > most ? s[j] : most;
    const float shift = most == -INFINITY ? 0.0f : most; /* nothing seen yet */
    OP_LOOP for (int64_t j = 0; j < n; j++)
    {
        s[j] = fast_exp_down(s[j] - shift);
    }
    for (int64_t j = seen; j < TILE; j++)
        s[j] = 0.0f;
    for (int64_t j = 0; j < n; j += SIMD_LANES)
        lanes += *(const f32x16 *)(s + j);
    *max = most;
    return (float)simd_sum(&lanes);
}

float sdpa_softmax_row(float *s, int64_t seen, float *max, float *sum)
{
    const int64_t n = used(seen);
    const float before = *max;
    for (int64_t j = seen; j < n; j++)
        s[j] = s[0];
    const float total =
        n == TILE ? exponentials(s, TILE, seen, max) : exponentials(s, n, seen, max);
    const float shrink = fast_exp_down(before - (*max == -INFINITY ? 0.0f : *max));
    *sum = *sum * shrink + total;
    return shrink;
}

/* The first n of a row, as above. */
INLINE void grads(float *p, float *ds, int64_t n, float lse, float delta)
{
    OP_LOOP for (int64_t j = 0; j < n; j++)
    {
        p[j] = fast_exp_down(p[j] - lse);
        ds[j] = p[j] * (ds[j] - delta);
    }
}

void sdpa_grad_row(float *p, float *ds, int64_t seen, float lse, float delta)
{
    const int64_t n = used(seen);
    for (int64_t j = seen; j < n; j++)
        p[j] = lse;
    if (n == TILE)
        grads(p, ds, TILE, lse, delta);
    else
        grads(p, ds, n, lse, delta);
    for (int64_t j = seen; j < TILE; j++)
        p[j] = ds[j] = 0.0f;
}

void sdpa_scale_row(float *x, float scale, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        x[i] *= scale;
}

double sdpa_dot(const float *x, const float *y, int64_t n)
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
