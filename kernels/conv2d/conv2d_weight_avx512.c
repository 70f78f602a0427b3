/* conv2d_weight_avx512.c - the weight gradient of narrow convolutions, in registers. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "conv2d/conv2d_weight.h"

#if defined(__x86_64__)

#include <immintrin.h>
#include <stdlib.h>
#include <string.h>

#define AVX512 __attribute__((target("avx512f")))
#define UNROLL _Pragma("GCC unroll 16")

/* dw(u, v, c, o) is the sum over pixels of x(.., c) dy(.., o).  A tile of 16 input channels by 16
 * outputs, or 8 by 32, stays in 16 registers while its thread goes over a block of pixels: each pixel
 * costs 16 multiply-adds and at most 17 loads.  A block is small enough for x and dy to stay in the
 * first level of the cache for all taps; each thread sums into a buffer of its own, (KH, KW, C, O),
 * and the buffers are added up in their order, so that results depend on the number of threads
 * alone. */
enum {
    BLOCK_PIXELS = 128,
    BUFFER_MOST = 160 * 1024 /* elements; a share of the second level */
};

/* Images [b0, b1), rows [y0, y1) of y. */
typedef struct block {
    int64_t b0, b1, y0, y1;
} block;

/* Where tap (u, v) meets the image: outputs [first, last) of a line whose step is s. */
static void span(int64_t n, int64_t in, int64_t tap, int64_t s, int64_t p, int64_t *first,
                 int64_t *last)
{
    const int64_t low = p - tap; /* outputs i with i s >= low and i s < in + low */
    *first = low > 0 ? (low + s - 1) / s : 0;
    *last = in + low > 0 ? (in + low - 1) / s + 1 : 0;
    *last = *last < n ? *last : n;
}

/* One tile of one tap over a block: dw[k ldw + (0 .. 15)] for 16 input channels k. */
AVX512 static void tile_16(const conv2d_geometry *g, const block *k, const float *x,
                           const float *dy, int64_t u, int64_t v, float *dw)
{
    __m512 a[16];
    int64_t i0, i1, j0, j1;
    span(g->oh, g->h, u, g->sh, g->ph, &i0, &i1);
    span(g->ow, g->w, v, g->sw, g->pw, &j0, &j1);
    i0 = i0 > k->y0 ? i0 : k->y0;
    i1 = i1 < k->y1 ? i1 : k->y1;
    UNROLL for (int c = 0; c < 16; c++) a[c] = _mm512_loadu_ps(dw + c * g->o);
    for (int64_t b = k->b0; b < k->b1; b++)
        for (int64_t i = i0; i < i1; i++) {
            const float *px =
                x + ((b * g->h + i * g->sh + u - g->ph) * g->w + j0 * g->sw + v - g->pw) * g->c;
            const float *pd = dy + ((b * g->oh + i) * g->ow + j0) * g->o;
            for (int64_t j = j0; j < j1; j++, px += g->sw * g->c, pd += g->o) {
                const __m512 d = _mm512_loadu_ps(pd);
                UNROLL for (int c = 0; c < 16; c++) a[c] =
                    _mm512_fmadd_ps(_mm512_set1_ps(px[c]), d, a[c]);
            }
        }
    UNROLL for (int c = 0; c < 16; c++) _mm512_storeu_ps(dw + c * g->o, a[c]);
}

/* The same for 8 input channels and 32 outputs. */
AVX512 static void tile_32(const conv2d_geometry *g, const block *k, const float *x,
                           const float *dy, int64_t u, int64_t v, float *dw)
{
    __m512 a[8], e[8];
    int64_t i0, i1, j0, j1;
    span(g->oh, g->h, u, g->sh, g->ph, &i0, &i1);
    span(g->ow, g->w, v, g->sw, g->pw, &j0, &j1);
    i0 = i0 > k->y0 ? i0 : k->y0;
    i1 = i1 < k->y1 ? i1 : k->y1;
    UNROLL for (int c = 0; c < 8; c++)
    {
        a[c] = _mm512_loadu_ps(dw + c * g->o);
        e[c] = _mm512_loadu_ps(dw + c * g->o + 16);
    }
    for (int64_t b = k->b0; b < k->b1; b++)
        for (int64_t i = i0; i < i1; i++) {
            const float *px =
                x + ((b * g->h + i * g->sh + u - g->ph) * g->w + j0 * g->sw + v - g->pw) * g->c;
            const float *pd = dy + ((b * g->oh + i) * g->ow + j0) * g->o;
            for (int64_t j = j0; j < j1; j++, px += g->sw * g->c, pd += g->o) {
                const __m512 d = _mm512_loadu_ps(pd), f = _mm512_loadu_ps(pd + 16);
                UNROLL for (int c = 0; c < 8; c++)
                {
                    const __m512 s = _mm512_set1_ps(px[c]);
                    a[c] = _mm512_fmadd_ps(s, d, a[c]);
                    e[c] = _mm512_fmadd_ps(s, f, e[c]);
                }
            }
        }
    UNROLL for (int c = 0; c < 8; c++)
    {
        _mm512_storeu_ps(dw + c * g->o, a[c]);
        _mm512_storeu_ps(dw + c * g->o + 16, e[c]);
    }
}

static void add_block(const conv2d_geometry *g, const block *k, const float *x, const float *dy,
                      float *buffer)
{
    const int wide = g->o % 32 == 0;
    const int64_t tile = wide ? 8 : 16, outputs = wide ? 32 : 16;
    for (int64_t u = 0; u < g->kh; u++)
        for (int64_t v = 0; v < g->kw; v++) {
            float *tap = buffer + (u * g->kw + v) * g->c * g->o;
            for (int64_t c = 0; c < g->c; c += tile)
                for (int64_t o = 0; o < g->o; o += outputs)
                    (wide ? tile_32 : tile_16)(g, k, x + c, dy + o, u, v, tap + c * g->o + o);
        }
}

/* Blocks of one image and some rows, or of some whole images. */
static block block_at(const conv2d_geometry *g, int64_t number, int64_t rows, int64_t images)
{
    if (images > 1) {
        const int64_t b0 = number * images;
        return (block){b0, b0 + images < g->b ? b0 + images : g->b, 0, g->oh};
    }
    const int64_t per = (g->oh + rows - 1) / rows, b = number / per, y0 = number % per * rows;
    return (block){b, b + 1, y0, y0 + rows < g->oh ? y0 + rows : g->oh};
}

/* w (O, KH, KW, C) is the sum of the buffers (KH, KW, C, O). */
static void add_buffers(const conv2d_geometry *g, const float *buffers, int threads, float *dw)
{
    const int64_t taps = g->kh * g->kw * g->c, count = taps * g->o;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t t = 0; t < taps; t++)
        for (int64_t o = 0; o < g->o; o++) {
            float sum = buffers[t * g->o + o];
            for (int k = 1; k < threads; k++)
                sum += buffers[k * count + t * g->o + o];
            dw[o * taps + t] = sum;
        }
}

int conv2d_weight_fits(const conv2d_geometry *g)
{
    return __builtin_cpu_supports("avx512f") && g->g == 1 && g->dh == 1 && g->dw == 1 &&
           g->c % 16 == 0 && g->o % 16 == 0 && g->kh * g->kw * g->c * g->o <= BUFFER_MOST;
}

uint64_t conv2d_weight_scratch(const conv2d_geometry *g, int threads)
{
    return (uint64_t)(threads * g->kh * g->kw * g->c * g->o) * sizeof(float);
}

void conv2d_weight_run(const conv2d_geometry *g, int threads, const float *x, const float *dy,
                       float *dw, float *buffers)
{
    const int64_t count = g->kh * g->kw * g->c * g->o;
    const int64_t row = g->ow < BLOCK_PIXELS ? BLOCK_PIXELS / g->ow : 1;
    const int64_t rows = row < g->oh ? row : g->oh;
    const int64_t images = row > g->oh ? row / g->oh : 1;
    const int64_t blocks =
        images > 1 ? (g->b + images - 1) / images : g->b * ((g->oh + rows - 1) / rows);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int t = 0; t < threads; t++) {
        float *mine = buffers + t * count;
        memset(mine, 0, (size_t)count * sizeof *mine);
        for (int64_t k = blocks * t / threads; k < blocks * (t + 1) / threads; k++) {
            const block now = block_at(g, k, rows, images);
            add_block(g, &now, x, dy, mine);
        }
    }
    add_buffers(g, buffers, threads, dw);
}

#else

int conv2d_weight_fits(const conv2d_geometry *g)
{
    (void)g;
    return 0;
}

uint64_t conv2d_weight_scratch(const conv2d_geometry *g, int threads)
{
    (void)g, (void)threads;
    return 0;
}

void conv2d_weight_run(const conv2d_geometry *g, int threads, const float *x, const float *dy,
                       float *dw, float *buffers)
{
    (void)g, (void)threads, (void)x, (void)dy, (void)dw, (void)buffers;
}

#endif
