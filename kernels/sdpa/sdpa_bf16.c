/* sdpa_bf16.c - attention in bf16: pairs for the GEMMs, rows of tiles that become bf16. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/half.h"
#include "common/simd.h"
#include "sdpa/sdpa.h"

enum { TILE = SDPA_TILE };

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
    for (int64_t i = 0; i < TILE; i += SIMD_WIDTH) {
        const simd_f32 v = *(const simd_f32 *)(row + i);
        simd_store_bf16(&v, to + i);
    }
}

void sdpa_pair_rows(const float *low, const float *high, float *to)
{
    uint16_t a[TILE], b[TILE] = {0};
    uint32_t *words = (uint32_t *)to;
    for (int64_t i = 0; i < TILE; i += SIMD_WIDTH) {
        simd_store_bf16((const simd_f32 *)(low + i), a + i);
        if (high)
            simd_store_bf16((const simd_f32 *)(high + i), b + i);
    }
    OP_LOOP for (int64_t i = 0; i < TILE; i++) words[i] = a[i] | (uint32_t)b[i] << 16;
}

void sdpa_store_low(const float *x, int64_t n, float scale, uint16_t *to)
{
    OP_LOOP for (int64_t i = 0; i < n; i++) to[i] = half_to_bf16(scale * x[i]);
}

double sdpa_dot_low(const uint16_t *x, const uint16_t *y, int64_t n)
{
    double sum = 0.0;
    for (int64_t at = 0; at < n; at += TILE) {
        const int64_t some = n - at < TILE ? n - at : TILE;
        float a[TILE], b[TILE];
        OP_LOOP for (int64_t i = 0; i < some; i++)
        {
            a[i] = half_from_bf16(x[at + i]);
            b[i] = half_from_bf16(y[at + i]);
        }
        sum += sdpa_dot(a, b, some);
    }
    return sum;
}
