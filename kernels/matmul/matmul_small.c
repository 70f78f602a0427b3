/* matmul_small.c - a small product by the GEMM micro-kernel, where calling a library costs more than the product. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/gemm_microkernel_loop.h"
#include "matmul/matmul.h"

#include <string.h>

/* b is packed into panels of 32 columns (zeros beyond N).  Some rows of y by two registers of columns stay in
 * registers while k runs. */
enum { PANEL = 2 * SIMD_LANES, WIDE = 2 * SIMD_WIDTH, ROWS = SIMD_WIDTH == 16 ? 4 : 6 };

#define INLINE SIMD_INLINE

GEMM_MICROKERNEL_LOOP(loop, simd_f32, GEMM_FMA_F32)

int64_t matmul_small_scratch(const matmul_shape *s)
{
    return (s->n + PANEL - 1) / PANEL * PANEL * s->k;
}

INLINE void pack(const matmul_shape *s, const float *b, float *packed)
{
    for (int64_t j = 0; j < s->n; j += PANEL) {
        const int64_t width = s->n - j < PANEL ? s->n - j : PANEL;
        float *to = packed + j * s->k;
        if (width < PANEL && s->k)
            memset(to, 0, (size_t)(PANEL * s->k) * sizeof *to);
        if (s->b_col == 1) {
            for (int64_t k = 0; k < s->k; k++)
                memcpy(to + k * PANEL, b + k * s->b_row + j, (size_t)width * sizeof *to);
            continue;
        }
        for (int64_t i = 0; i < width; i++)
            for (int64_t k = 0; k < s->k; k++)
                to[k * PANEL + i] = b[k * s->b_row + (j + i) * s->b_col];
    }
}

/* `rows` (a constant after inlining) rows of y by `width` of a panel's columns, WIDE at most. */
INLINE void block(const matmul_shape *s, int rows, int64_t width, const float *a,
                  const float *panel, const float *start, float *y)
{
    simd_f32 acc[ROWS][GEMM_MAX_VECS];
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < 2; v++)
            acc[r][v] = *(const simd_f32 *)(start + v * SIMD_WIDTH);
    loop(rows, 2, s->k, a, s->a_row, s->a_col, panel, PANEL, 0, acc);
    for (int r = 0; r < rows; r++) {
        float row[WIDE], *to = width == WIDE ? y + r * s->n : row;
        for (int v = 0; v < 2; v++)
            *(simd_f32 *)(to + v * SIMD_WIDTH) = acc[r][v];
        if (width < WIDE)
            memcpy(y + r * s->n, row, (size_t)width * sizeof *y);
    }
}

/* All rows of y. */
INLINE void columns(const matmul_shape *s, int64_t width, const float *a, const float *panel,
                    const float *start, float *y)
{
    int64_t i = 0;
    for (; i + ROWS <= s->m; i += ROWS)
        block(s, ROWS, width, a + i * s->a_row, panel, start, y + i * s->n);
    for (; i + 2 <= s->m; i += 2)
        block(s, 2, width, a + i * s->a_row, panel, start, y + i * s->n);
    for (; i < s->m; i++)
        block(s, 1, width, a + i * s->a_row, panel, start, y + i * s->n);
}

void matmul_small(const matmul_shape *s, const float *a, const float *b, const float *bias,
                  float *y, float *packed)
{
    pack(s, b, packed);
    for (int64_t j = 0; j < s->n; j += PANEL) {
        const int64_t width = s->n - j < PANEL ? s->n - j : PANEL;
        const float *panel = packed + j * s->k;
        float start[PANEL] = {0};
        if (bias)
            memcpy(start, bias + j, (size_t)width * sizeof *start);
        for (int64_t c = 0; c < width; c += WIDE)
            columns(s, width - c < WIDE ? width - c : WIDE, a, panel + c, start + c, y + j + c);
    }
}
