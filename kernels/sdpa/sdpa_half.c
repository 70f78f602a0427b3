/* sdpa_half.c - attention in bf16 or, with PAIRS_F16, in f16: pairs for the GEMMs, rows of tiles that become 16 bits. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/fastmath.h"
#include "common/half.h"
#include "common/simd.h"
#include "sdpa/sdpa.h"

#include <string.h>

#if defined(__AVX512BF16__) || (defined(PAIRS_F16) && defined(__AVX512F__))
#define WITH_AVX512 1
#include "common/exp2_avx512.h"
#endif

enum { TILE = SDPA_TILE };

#if defined(PAIRS_F16)
#define NARROW half_to_f16
#define WIDEN half_from_f16

/* A register, rounded. */
static void store_register(const float *x, uint16_t *to)
{
#if defined(WITH_AVX512)
    _mm256_storeu_si256((__m256i *)to,
                        _mm512_cvtps_ph(_mm512_loadu_ps(x), _MM_FROUND_TO_NEAREST_INT));
#else
    uint16_t rounded[SIMD_WIDTH]; /* `to` may be what x is */
    for (int k = 0; k < SIMD_WIDTH; k++)
        rounded[k] = half_to_f16(x[k]);
    memcpy(to, rounded, sizeof rounded);
#endif
}
#else
#define NARROW half_to_bf16
#define WIDEN half_from_bf16

static void store_register(const float *x, uint16_t *to)
{
    const simd_f32 v = *(const simd_f32 *)x;
    simd_store_bf16(&v, to);
}
#endif

void sdpa_pack_pairs(const uint16_t *x, int64_t row, int64_t n, int64_t d, int64_t width,
                     float *to)
{
    for (int64_t j = 0; j < n; j += 2, to += width) {
        const uint16_t *low = x + j * row, *high = j + 1 < n ? low + row : NULL;
        uint32_t *words = (uint32_t *)to;
        if (high) {
            OP_LOOP for (int64_t i = 0; i < d; i++) words[i] = low[i] | (uint32_t)high[i] << 16;
        } else {
            OP_LOOP for (int64_t i = 0; i < d; i++) words[i] = low[i];
        }
        for (int64_t i = d; i < width; i++)
            words[i] = 0;
    }
}

/* Every block of a row is read before it or one behind it is written. */
void sdpa_narrow_row(float *row)
{
    uint16_t *to = (uint16_t *)row;
    for (int64_t i = 0; i < TILE; i += SIMD_WIDTH)
        store_register(row + i, to + i);
}

/* Two rows of a tile (`high` NULL: zeros) become one of words. */
static void pair_rows(const float *low, const float *high, float *to)
{
    uint16_t a[TILE], b[TILE] = {0};
    uint32_t *words = (uint32_t *)to;
    for (int64_t i = 0; i < TILE; i += SIMD_WIDTH) {
        store_register(low + i, a + i);
        if (high)
            store_register(high + i, b + i);
    }
    OP_LOOP for (int64_t i = 0; i < TILE; i++) words[i] = a[i] | (uint32_t)b[i] << 16;
}

void sdpa_narrow_tiles(int64_t rows, const float *p, float *ds, float *p2, float *ds2)
{
    for (int64_t r = 0; r < rows; r += 2) {
        const int64_t at = r * TILE, next = r + 1 < rows ? at + TILE : -1;
        pair_rows(p + at, next < 0 ? NULL : p + next, p2 + at / 2);
        pair_rows(ds + at, next < 0 ? NULL : ds + next, ds2 + at / 2);
    }
    for (int64_t r = 0; r < rows; r++)
        sdpa_narrow_row(ds + r * TILE);
}

#if defined(WITH_AVX512)
enum { VECTORS = TILE / SIMD_LANES };

/* exp(x), 0 where that is no normal number. */
SIMD_INLINE __m512 exponential(__m512 x)
{
    const __m512 least = _mm512_set1_ps(-126.0f);
    const __m512 t = _mm512_mul_ps(x, _mm512_set1_ps(1.44269504f));
    const __mmask16 normal = _mm512_cmp_ps_mask(t, least, _CMP_NLT_UQ); /* or NaN */
    return _mm512_maskz_mov_ps(normal, exp2_avx512(t));
}

/* The lanes of register k with something seen. */
SIMD_INLINE __mmask16 seen_lanes(int64_t seen, int k)
{
    const int64_t n = seen - k * SIMD_LANES;
    return n >= SIMD_LANES ? 0xFFFF : n <= 0 ? 0 : (__mmask16)((1u << n) - 1u);
}

/* Thirty-two numbers, rounded. */
SIMD_INLINE __m512i narrow_both(__m512 low, __m512 high)
{
#if defined(PAIRS_F16)
    const __m256i first = _mm512_cvtps_ph(low, _MM_FROUND_TO_NEAREST_INT);
    return _mm512_inserti64x4(_mm512_castsi256_si512(first),
                              _mm512_cvtps_ph(high, _MM_FROUND_TO_NEAREST_INT), 1);
#else
    return (__m512i)_mm512_cvtne2ps_pbh(high, low);
#endif
}

SIMD_INLINE void store_both(uint16_t *to, __m512 low, __m512 high)
{
    _mm512_storeu_si512(to, narrow_both(low, high));
}

float sdpa_softmax_half(float *s, float scale, int64_t seen, float *max, float *sum)
{
    const __m512 none = _mm512_set1_ps(-INFINITY), factor = _mm512_set1_ps(scale);
    const float before = *max;
    __m512 v[VECTORS];
    for (int k = 0; k < VECTORS; k++)
        v[k] = _mm512_mask_mul_ps(none, seen_lanes(seen, k),
                                  _mm512_loadu_ps(s + k * SIMD_LANES), factor);
    const float largest = _mm512_reduce_max_ps(
        _mm512_max_ps(_mm512_max_ps(v[0], v[1]), _mm512_max_ps(v[2], v[3])));
    const float most = largest > before ? largest : before;
    const float shift = most == -INFINITY ? 0.0f : most; /* nothing seen yet */
    for (int k = 0; k < VECTORS; k++)
        v[k] = exponential(_mm512_sub_ps(v[k], _mm512_set1_ps(shift)));
    store_both((uint16_t *)s, v[0], v[1]);
    store_both((uint16_t *)s + 2 * SIMD_LANES, v[2], v[3]);
    const float total = _mm512_reduce_add_ps(
        _mm512_add_ps(_mm512_add_ps(v[0], v[1]), _mm512_add_ps(v[2], v[3])));
    *max = most;
    if (before == most) {
        *sum += total;
        return 1.0f;
    }
    const float shrink = fast_exp_down(before - shift);
    *sum = *sum * shrink + total;
    return shrink;
}

/* Sixteen numbers of a row's p and ds as sdpa_grad_row has them; the first is *ret_p. */
SIMD_INLINE __m512 grad_lanes(const sdpa_grad_line *l, float scale, int k, __m512 *ret_p)
{
    const __mmask16 seen = seen_lanes(l->seen, k);
    const __m512 score = _mm512_loadu_ps(l->p + k * SIMD_LANES);
    const __m512 x = _mm512_fmsub_ps(score, _mm512_set1_ps(scale), _mm512_set1_ps(l->lse));
    const __m512 p = _mm512_maskz_mov_ps(seen, exponential(x));
    const __m512 ds =
        _mm512_sub_ps(_mm512_loadu_ps(l->ds + k * SIMD_LANES), _mm512_set1_ps(l->delta));
    *ret_p = p;
    return _mm512_maskz_mul_ps(seen, p, ds);
}

/* Words of neighbours: two steps of registers at a time, since rows of ds are narrowed in their place. */
void sdpa_grad_half(const sdpa_grad_line l[2], float scale, float *p2, float *ds2)
{
    const __m512 zero = _mm512_setzero_ps();
    const __m512i by_word =
        _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7,
                         22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
    for (int k = 0; k < VECTORS; k += 2) {
        __m512 p[2][2] = {{zero, zero}, {zero, zero}}, ds[2][2] = {{zero, zero}, {zero, zero}};
        for (int r = 0; r < 2; r++) {
            if (!l[r].p)
                continue;
            for (int v = 0; v < 2; v++)
                ds[r][v] = grad_lanes(&l[r], scale, k + v, &p[r][v]);
            store_both((uint16_t *)l[r].ds + k * SIMD_LANES, ds[r][0], ds[r][1]);
        }
        for (int v = 0; v < 2; v++) {
            const __m512i wp = narrow_both(p[0][v], p[1][v]);
            const __m512i wd = narrow_both(ds[0][v], ds[1][v]);
            _mm512_storeu_si512(p2 + (k + v) * SIMD_LANES,
                                _mm512_permutexvar_epi16(by_word, wp));
            _mm512_storeu_si512(ds2 + (k + v) * SIMD_LANES,
                                _mm512_permutexvar_epi16(by_word, wd));
        }
    }
}
#else
float sdpa_softmax_half(float *s, float scale, int64_t seen, float *max, float *sum)
{
    sdpa_scale_row(s, scale, seen);
    const float shrink = sdpa_softmax_row(s, seen, max, sum);
    sdpa_narrow_row(s);
    return shrink;
}

void sdpa_grad_half(const sdpa_grad_line l[2], float scale, float *p2, float *ds2)
{
    for (int r = 0; r < 2 && l[r].p; r++) {
        sdpa_scale_row(l[r].p, scale, l[r].seen);
        sdpa_grad_row(l[r].p, l[r].ds, l[r].seen, l[r].lse, l[r].delta);
    }
    pair_rows(l[0].p, l[1].p, p2);
    pair_rows(l[0].ds, l[1].p ? l[1].ds : NULL, ds2);
    for (int r = 0; r < 2 && l[r].p; r++)
        sdpa_narrow_row(l[r].ds);
}
#endif

void sdpa_store_half(const float *x, int64_t n, float scale, uint16_t *to)
{
    int64_t i = 0;
    for (; i + SIMD_WIDTH <= n; i += SIMD_WIDTH) {
        const simd_f32 v = *(const simd_f32 *)(x + i) * scale;
        store_register((const float *)&v, to + i);
    }
    for (; i < n; i++)
        to[i] = NARROW(scale * x[i]);
}

#if defined(__AVX512BF16__) && !defined(PAIRS_F16)
/* Products are exact, and a lane gets two of 32. */
double sdpa_dot_half(const uint16_t *x, const uint16_t *y, int64_t n)
{
    enum { STEP = 2 * SIMD_LANES };
    __m512 sum = _mm512_setzero_ps();
    for (int64_t i = 0; i < n; i += STEP) {
        const __mmask32 there = n - i < STEP ? (__mmask32)((1u << (n - i)) - 1u) : ~0u;
        const __m512bh a = (__m512bh)_mm512_maskz_loadu_epi16(there, x + i);
        const __m512bh b = (__m512bh)_mm512_maskz_loadu_epi16(there, y + i);
        sum = _mm512_dpbf16_ps(sum, a, b);
    }
    return (double)_mm512_reduce_add_ps(sum);
}
#else
double sdpa_dot_half(const uint16_t *x, const uint16_t *y, int64_t n)
{
    double sum = 0.0;
    for (int64_t at = 0; at < n; at += TILE) {
        const int64_t some = n - at < TILE ? n - at : TILE;
        float a[TILE], b[TILE];
        OP_LOOP for (int64_t i = 0; i < some; i++)
        {
            a[i] = WIDEN(x[at + i]);
            b[i] = WIDEN(y[at + i]);
        }
        sum += sdpa_dot(a, b, some);
    }
    return sum;
}
#endif
