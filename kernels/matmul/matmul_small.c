/* matmul_small.c - a product small enough that calling a library costs more than the product. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "matmul/matmul.h"

#include <string.h>

/* b is packed into panels of 32 columns (zeros beyond N); 4 rows of y by one panel stay in
 * registers while k runs. */
enum { LANES = 16, PANEL = 32, ROWS = 4 };

typedef float lanes __attribute__((vector_size(4 * LANES), aligned(4)));

#define INLINE static inline __attribute__((always_inline))

int64_t matmul_small_room(const matmul_shape *s)
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

/* `rows` (a constant after inlining) rows of y by the panel's `width` columns. */
INLINE void block(const matmul_shape *s, int rows, int64_t width, const float *a,
                  const float *panel, const float *start, float *y)
{
    lanes acc[ROWS][2];
    for (int r = 0; r < rows; r++)
        memcpy(acc[r], start, sizeof acc[r]);
    for (int64_t k = 0; k < s->k; k++) {
        const lanes b0 = *(const lanes *)(panel + k * PANEL);
        const lanes b1 = *(const lanes *)(panel + k * PANEL + LANES);
        for (int r = 0; r < rows; r++) {
            const float x = a[r * s->a_row + k * s->a_col];
            acc[r][0] += x * b0;
            acc[r][1] += x * b1;
        }
    }
    for (int r = 0; r < rows; r++)
        memcpy(y + r * s->n, acc[r], (size_t)width * sizeof *y);
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
        int64_t i = 0;
        for (; i + ROWS <= s->m; i += ROWS)
            block(s, ROWS, width, a + i * s->a_row, panel, start, y + i * s->n + j);
        for (; i < s->m; i++)
            block(s, 1, width, a + i * s->a_row, panel, start, y + i * s->n + j);
    }
}
