/* conv2d_direct_loops.c - packing for AMX's tile registers and sums by them; without these a model of them. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/simd.h"
#if !defined(SIMD_AMX_BF16)
#define AMX_MODEL
#endif
#include "common/amx.h"
#include "common/simd_transpose.h"
#include "conv2d/conv2d_direct.h"
#include "conv2d/conv2d_numbers.h"
#if defined(__AVX512BF16__)
#include "common/gemm_pack_pairs.h"
#else
#include "tutti/half.h"
#endif

/* ---- packing ---- */

/* Sixteen channels of a pixel in the lower halves of words. */
INLINE void words_of(const direct_images *x, int64_t pixel, int64_t c, int32_t dtype,
                     u32x16 *ret)
{
    u16x16 low = {0};
    if (pixel >= 0) {
        const char *from = (const char *)x->data + bytes_of(dtype, pixel * x->channels + c);
        if (dtype == TUTTI_BF16)
            low = *(const u16x16 *)from;
        else
            narrow((const f32x16 *)from, &low);
    }
#if defined(__AVX512BF16__)
    *ret = (u32x16)_mm512_cvtepu16_epi32((__m256i)low);
#else
    *ret = __builtin_convertvector(low, u32x16);
#endif
}

INLINE void line_of(const direct_images *x, int64_t pixel, int64_t c, int32_t dtype, char *to)
{
    if (pixel < 0) {
        memset(to, 0, AMX_LINE);
        return;
    }
    const char *from = (const char *)x->data + bytes_of(dtype, pixel * x->channels + c);
    if (dtype == TUTTI_BF16) {
        memcpy(to, from, AMX_LINE);
        return;
    }
    narrow((const f32x16 *)from, to);
    narrow((const f32x16 *)(from + LANES * sizeof(float)), to + AMX_LINE / 2);
}

static void lines(const direct_images *x, int64_t c, int64_t count, float *to)
{
    for (int64_t q = 0; q < count; q++, to += LANES)
        if (x->dtype == TUTTI_BF16)
            line_of(x, x->pixel[q], c, TUTTI_BF16, (char *)to);
        else
            line_of(x, x->pixel[q], c, TUTTI_F32, (char *)to);
}

INLINE void pairs_of(const direct_images *x, int64_t c, int64_t count, int32_t dtype, float *to)
{
    u32x16 here, next;
    words_of(x, x->pixel[0], c, dtype, &here);
    for (int64_t q = 0; q < count; q++, to += LANES) {
        words_of(x, x->pixel[q + 1], c, dtype, &next);
        *(u32x16 *)to = here | next << 16;
        here = next;
    }
}

static void pairs(const direct_images *x, int64_t c, int64_t count, float *to)
{
    if (x->dtype == TUTTI_BF16)
        pairs_of(x, c, count, TUTTI_BF16, to);
    else
        pairs_of(x, c, count, TUTTI_F32, to);
}

INLINE void transposed_of(const direct_images *x, int64_t c, int64_t count, int32_t dtype,
                          float *to)
{
    for (int64_t q = 0; q < count; q += 2 * LANES, to += LANES * LANES)
        for (int half = 0; half < 2; half++) {
            f32x8 low[8], high[8];
            for (int i = 0; i < 8; i++) {
                const int64_t *pixel = x->pixel + q + half * LANES + 2 * (int64_t)i;
                u32x16 even, odd;
                words_of(x, pixel[0], c, dtype, &even);
                words_of(x, pixel[1], c, dtype, &odd);
                even |= odd << 16;
                low[i] = ((const f32x8 *)&even)[0];
                high[i] = ((const f32x8 *)&even)[1];
            }
            float *at = to + half * LANES / 2;
            simd_transpose_8x8(low, at, LANES);
            simd_transpose_8x8(high, at + LANES / 2 * LANES, LANES);
        }
}

static void transposed(const direct_images *x, int64_t c, int64_t count, float *to)
{
    if (x->dtype == TUTTI_BF16)
        transposed_of(x, c, count, TUTTI_BF16, to);
    else
        transposed_of(x, c, count, TUTTI_F32, to);
}

#if defined(__AVX512BF16__)
static void filter(const void *w, int32_t dtype, int64_t row, int64_t col, int64_t cols,
                   float *to)
{
    const gemm_matrix b = {w, row, col, dtype, 0};
    float both[DIRECT_CHUNK];
    const int whole = cols == DIRECT_TILE;
    gemm_pack_columns(DIRECT_TILE, AMX_WORDS, DIRECT_TILE, cols, &b, whole ? to : both);
    for (int64_t i = 0; i < LANES && !whole; i++)
        memcpy(to + i * LANES, both + i * DIRECT_TILE, LANES * sizeof *to);
}
#else
/* The number at `at` of w in the lower half of a word. */
INLINE uint32_t number_of(const void *w, int32_t dtype, int64_t at)
{
    return dtype == TUTTI_BF16 ? ((const uint16_t *)w)[at]
                               : tutti_to_bf16(((const float *)w)[at]);
}

static void filter(const void *w, int32_t dtype, int64_t row, int64_t col, int64_t cols,
                   float *to)
{
    uint32_t *words = (uint32_t *)to;
    for (int64_t i = 0; i < LANES; i++)
        for (int64_t j = 0; j < cols; j++) {
            const int64_t at = 2 * i * row + j * col;
            words[i * cols + j] = number_of(w, dtype, at) | number_of(w, dtype, at + row) << 16;
        }
}
#endif

/* ---- products ---- */

static void enter(void)
{
    amx_begin();
}

static void leave(void)
{
    amx_end();
}

static const float zeros[DIRECT_TILE] = {0};

INLINE void store_result(const f32x16 *v, int32_t dtype, void *to)
{
    if (dtype == TUTTI_BF16)
        narrow(v, to);
    else
        *(f32x16 *)to = *v;
}

/* 32 channels of a position, or 16, to their pixel. */
INLINE void store_results(int wide, const float *sums, const float *bias, int32_t dtype,
                          void *to)
{
    f32x16 low = *(const f32x16 *)sums, high = {0};
    if (bias)
        low += *(const f32x16 *)bias;
    if (wide)
        high = *(const f32x16 *)(sums + LANES);
    if (wide && bias)
        high += *(const f32x16 *)(bias + LANES);
#if defined(__AVX512BF16__)
    if (wide && dtype == TUTTI_BF16) {
        _mm512_storeu_si512(to, (__m512i)_mm512_cvtne2ps_pbh((__m512)high, (__m512)low));
        return;
    }
#endif
    store_result(&low, dtype, to);
    if (wide)
        store_result(&high, dtype, (char *)to + bytes_of(dtype, LANES));
}

/* `wide`: 32 channels, else 16; a constant after inlining. */
INLINE void results_of(int wide, const direct_sums *s, int64_t c, const float *bias,
                       const direct_images *y, int32_t dtype, char *data)
{
    const int64_t cols = wide ? DIRECT_TILE : LANES;
    float sums[DIRECT_TILE * DIRECT_TILE] __attribute__((aligned(64)));
    AMX_WRITTEN();
    amx_load_sums(1, wide, zeros, 0);
    for (int64_t k = 0; k < s->count; k++)
        amx_multiply(1, wide, AMX_WORDS, s->a + s->from[k], AMX_LINE, 0,
                     s->b + k * AMX_WORDS * cols, cols * (int64_t)sizeof(float));
    amx_store_sums(1, wide, sums, DIRECT_TILE * sizeof(float));
    AMX_WRITTEN();
    for (int64_t q = 0; q < DIRECT_TILE; q++)
        if (y->pixel[q] >= 0)
            store_results(wide, sums + q * DIRECT_TILE, bias ? bias + c : NULL, dtype,
                          data + bytes_of(dtype, y->pixel[q] * y->channels + c));
}

static void results(const direct_sums *s, int64_t c, const float *bias, const direct_images *y,
                    void *data)
{
    const int wide = y->channels - c > LANES;
    if (wide && y->dtype == TUTTI_BF16)
        results_of(1, s, c, bias, y, TUTTI_BF16, data);
    else if (wide)
        results_of(1, s, c, bias, y, TUTTI_F32, data);
    else
        results_of(0, s, c, bias, y, y->dtype, data);
}

/* `high` and `wide` are constants after inlining. */
INLINE void add_of(int high, int wide, int64_t steps, const float *d, const float *d2,
                   const float *v, const float *v2, int start, float *sum, int64_t sum_row)
{
    const int64_t row = sum_row * (int64_t)sizeof *sum, far = 2 * AMX_LINE;
    AMX_WRITTEN();
    if (start)
        amx_load_sums(high, wide, zeros, 0);
    else
        amx_load_sums(high, wide, sum, row);
    for (int64_t k = 0; k < steps; k++) {
        AMX_LOAD(4, d + k * LANES * LANES, AMX_LINE);
        AMX_LOAD(6, v + 2 * k * LANES * LANES, far);
        AMX_DOT(0, 4, 6);
        if (wide) {
            AMX_LOAD(7, v2 + 2 * k * LANES * LANES, far);
            AMX_DOT(1, 4, 7);
        }
        if (high) {
            AMX_LOAD(5, d2 + k * LANES * LANES, AMX_LINE);
            AMX_DOT(2, 5, 6);
        }
        if (high && wide)
            AMX_DOT(3, 5, 7);
    }
    amx_store_sums(high, wide, sum, row);
}

static void add(int64_t steps, const float *d, const float *d2, const float *v, const float *v2,
                int start, float *sum, int64_t sum_row)
{
    if (d2 && v2)
        add_of(1, 1, steps, d, d2, v, v2, start, sum, sum_row);
    else if (d2)
        add_of(1, 0, steps, d, d2, v, v2, start, sum, sum_row);
    else if (v2)
        add_of(0, 1, steps, d, d2, v, v2, start, sum, sum_row);
    else
        add_of(0, 0, steps, d, d2, v, v2, start, sum, sum_row);
}

#if defined(SIMD_AMX_BF16)
enum { UNITS = 1 };
#else
enum { UNITS = 0 };
#endif

const conv2d_direct_loops conv2d_direct = {UNITS,  0,     lines, pairs,   transposed,
                                           filter, enter, leave, results, add};
