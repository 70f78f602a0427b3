/* batch_norm_loops.c - the streaming loops of y, 16 channels at a time. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "batch_norm/batch_norm_part.h"

INLINE void sums(int steps, const float *x, int64_t rows, int64_t c, double *sum,
                 double *square)
{
    simd_f64 s[2 * STEPS], q[2 * STEPS];
    for (int h = 0; h < 2 * steps; h++) {
        s[h] = *(simd_f64 *)(sum + h * HALF);
        q[h] = *(simd_f64 *)(square + h * HALF);
    }
    for (int64_t r = 0; r < rows; r++) {
        for (int h = 0; h < 2 * steps; h += 2) {
            simd_f64 d[2];
            simd_to_f64((const simd_f32 *)(x + r * c + h * HALF), d);
            __builtin_prefetch(x + r * c + h * HALF + ahead(c));
            for (int k = 0; k < 2; k++) {
                s[h + k] += d[k];
                q[h + k] += d[k] * d[k];
            }
        }
    }
    for (int h = 0; h < 2 * steps; h++) {
        *(simd_f64 *)(sum + h * HALF) = s[h];
        *(simd_f64 *)(square + h * HALF) = q[h];
    }
}

/* Numbers of bf16 have 8 bits, their squares 16: sums of a few rows are as good as exact in f32. */
INLINE void half_sums(int steps, const uint16_t *x, int64_t rows, int64_t c, double *sum,
                      double *square)
{
    for (int64_t first = 0; first < rows; first += GROUP) {
        const int64_t end = first + GROUP < rows ? first + GROUP : rows;
        simd_f32 s[STEPS] = {{0}}, q[STEPS] = {{0}};
        const simd_f32 none = {0};
        for (int64_t r = first; r < end; r++) {
            for (int h = 0; h < steps; h++) {
                const uint16_t *from = x + r * c + h * SIMD_WIDTH;
                simd_f32 v;
                simd_load_bf16(from, &v);
                __builtin_prefetch(from + ahead(c));
                s[h] += v;
                q[h] += v * v;
            }
        }
        for (int h = 0; h < steps; h++) {
            add_to(sum + h * SIMD_WIDTH, &s[h], &none);
            add_to(square + h * SIMD_WIDTH, &q[h], &none);
        }
    }
}

#define SUMS(m) sums(m, at(x, 0, first *c + k), n, c, sum + k, square + k)
#define HALF_SUMS(m) half_sums(m, at(x, 1, first *c + k), n, c, sum + k, square + k)

void batch_norm_sums(const void *x, int32_t low, int64_t rows, int64_t c, double *sum,
                     double *square)
{
    const int64_t tile = rows_summed(c);
    for (int64_t first = 0; first < rows; first += tile) {
        const int64_t n = rows - first < tile ? rows - first : tile;
        int64_t k = 0, steps;
        for (; (steps = steps_at(k, c)) > 0; k += steps * SIMD_WIDTH) {
            if (low)
                WITH_STEPS(steps, HALF_SUMS)
            else
                WITH_STEPS(steps, SUMS)
        }
        for (int64_t r = first; r < first + n && k < c; r++) {
            for (int64_t j = k; j < c; j++) {
                const double v = (double)number(x, low, r * c + j);
                sum[j] += v;
                square[j] += v * v;
            }
        }
    }
}

enum { PLAIN, RELU, ADD, ADD_RELU };

INLINE void apply(int steps, int low, int end, const part *q)
{
    simd_f32 m[STEPS], a[STEPS], b[STEPS];
    for (int h = 0; h < steps; h++) {
        m[h] = *(const simd_f32 *)(q->l.mean + h * SIMD_WIDTH);
        a[h] = *(const simd_f32 *)(q->l.scale + h * SIMD_WIDTH);
        b[h] = *(const simd_f32 *)(q->l.shift + h * SIMD_WIDTH);
    }
    for (int64_t r = 0; r < q->rows; r++) {
        for (int h = 0; h < steps; h++) {
            const int64_t i = r * q->c + h * SIMD_WIDTH;
            simd_f32 u = (load(q->x, low, i) - m[h]) * a[h] + b[h];
            if (end & ADD)
                u += load(q->other, low, i);
            if (end & RELU) /* a NaN stays one */
                u = (simd_f32)((simd_i32)u & ~(simd_i32)(u < 0.0f));
            store(q->y, low, i, &u);
        }
    }
}

#define APPLY_OF(m, low)                                                                       \
    end == PLAIN  ? apply(m, low, PLAIN, &q)                                                   \
    : end == RELU ? apply(m, low, RELU, &q)                                                    \
    : end == ADD  ? apply(m, low, ADD, &q)                                                     \
                  : apply(m, low, ADD_RELU, &q)
#define APPLY(m) APPLY_OF(m, 0)
#define LOW_APPLY(m) APPLY_OF(m, 1)

/* A few rows, through all channels. */
static void apply_rows(const void *x, const void *residual, void *y, int32_t low, int64_t rows,
                       int64_t c, const batch_norm_line *line)
{
    const int end = (residual ? ADD : PLAIN) | (line->relu ? RELU : PLAIN);
    int64_t k = 0, steps;
    for (; (steps = steps_at(k, c)) > 0; k += steps * SIMD_WIDTH) {
        const part q = {at(x, low, k),
                        residual ? at(residual, low, k) : NULL,
                        (void *)(uintptr_t)at(y, low, k),
                        rows,
                        c,
                        line_at(line, k),
                        {NULL, NULL, NULL}};
        if (low)
            WITH_STEPS(steps, LOW_APPLY)
        else
            WITH_STEPS(steps, APPLY)
    }
    for (int64_t r = 0; r < rows && k < c; r++) {
        for (int64_t j = k; j < c; j++) {
            const int64_t i = r * c + j;
            const float u =
                (number(x, low, i) - line->mean[j]) * line->scale[j] + line->shift[j];
            const float v = residual ? u + number(residual, low, i) : u;
            set_number(y, low, i, line->relu && v < 0.0f ? 0.0f : v);
        }
    }
}

void batch_norm_apply(const void *x, const void *residual, void *y, int32_t low, int64_t rows,
                      int64_t c, const batch_norm_line *line)
{
    const int64_t tile = rows_written(c);
    for (int64_t first = 0; first < rows; first += tile) {
        const int64_t i = first * c, n = rows - first < tile ? rows - first : tile;
        apply_rows(at(x, low, i), residual ? at(residual, low, i) : NULL,
                   (void *)(uintptr_t)at(y, low, i), low, n, c, line);
    }
}
