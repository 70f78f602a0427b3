/* batch_norm_loops.c - the streaming loops, 16 channels at a time. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "batch_norm/batch_norm.h"
#include "common/simd.h"

/* A step is 16 channels (one AVX-512 register of f32, two of f64); up to four neighbouring steps
 * of a row are done at once, so that rows are read as they lie in memory. */
enum { HALF = SIMD_LANES_F64, STEPS = 4, TILE = 64, GROUP = 16 };

#define INLINE SIMD_INLINE

/* Calls a loop with the number of steps as a constant. */
#define WITH_STEPS(steps, call)                                                                \
    switch (steps) {                                                                           \
    case 1:                                                                                    \
        call(1);                                                                               \
        break;                                                                                 \
    case 2:                                                                                    \
        call(2);                                                                               \
        break;                                                                                 \
    case 3:                                                                                    \
        call(3);                                                                               \
        break;                                                                                 \
    default:                                                                                   \
        call(STEPS);                                                                           \
    }

/* Steps to do at once from channel k on. */
INLINE int64_t steps_at(int64_t k, int64_t c)
{
    const int64_t left = (c - k) / SIMD_LANES;
    return left < STEPS ? left : STEPS;
}

INLINE void sums(int steps, const float *x, int64_t rows, int64_t c, double *sum,
                 double *square)
{
    f64x8 s[2 * STEPS], q[2 * STEPS];
    for (int h = 0; h < 2 * steps; h++) {
        s[h] = *(f64x8 *)(sum + h * HALF);
        q[h] = *(f64x8 *)(square + h * HALF);
    }
    for (int64_t r = 0; r < rows; r++) {
        for (int h = 0; h < 2 * steps; h++) {
            const f32x8 v = *(const f32x8 *)(x + r * c + h * HALF);
            if (h % 2 == 0)
                __builtin_prefetch(x + r * c + h * HALF + SIMD_PREFETCH);
            const f64x8 d = __builtin_convertvector(v, f64x8);
            s[h] += d;
            q[h] += d * d;
        }
    }
    for (int h = 0; h < 2 * steps; h++) {
        *(f64x8 *)(sum + h * HALF) = s[h];
        *(f64x8 *)(square + h * HALF) = q[h];
    }
}

void batch_norm_sums(const float *x, int64_t rows, int64_t c, double *sum, double *square)
{
    for (int64_t at = 0; at < rows; at += TILE) {
        const int64_t n = rows - at < TILE ? rows - at : TILE;
        const float *tile = x + at * c;
        int64_t k = 0, steps;
        for (; (steps = steps_at(k, c)) > 0; k += steps * SIMD_LANES) {
#define CALL(m) sums(m, tile + k, n, c, sum + k, square + k)
            WITH_STEPS(steps, CALL)
#undef CALL
        }
        for (int64_t r = 0; r < n && k < c; r++) {
            for (int64_t j = k; j < c; j++) {
                const double v = (double)tile[r * c + j];
                sum[j] += v;
                square[j] += v * v;
            }
        }
    }
}

/* Rows of some channels of wider rows: `c` apart, the pointers at the first of those channels. */
typedef struct part {
    const float *x;
    const float *other; /* dy or the residual */
    float *y;
    int64_t rows, c;
    batch_norm_line l;
} part;

INLINE batch_norm_line line_at(const batch_norm_line *l, int64_t k)
{
    return (batch_norm_line){l->mean + k, l->scale + k, l->shift + k, l->relu};
}

/* sum += a + b, that sum in f32 */
INLINE void add_to(double *sum, const f32x16 *a, const f32x16 *b)
{
    const f32x16 v = *a + *b;
    simd_add_to(sum, &v);
}

/* One row: s += v, p += v centred. */
INLINE void grad_row(int steps, int relu, const part *q, int64_t r, const f32x16 *line,
                     f32x16 *s, f32x16 *p)
{
    const f32x16 *m = line, *a = line + STEPS, *b = line + 2 * STEPS;
    for (int h = 0; h < steps; h++) {
        const int64_t i = r * q->c + h * SIMD_LANES;
        const f32x16 centred = *(const f32x16 *)(q->x + i) - m[h];
        f32x16 v = *(const f32x16 *)(q->other + i);
        __builtin_prefetch(q->x + i + SIMD_PREFETCH);
        __builtin_prefetch(q->other + i + SIMD_PREFETCH);
        if (relu)
            v = (f32x16)((i32x16)v & (i32x16)(centred * a[h] + b[h] > 0.0f));
        s[h] += v;
        p[h] += v * centred;
    }
}

/* A few rows are added up in f32 first: gradients, unlike x, lie around 0.  Even and odd ones apart,
 * so that they do not wait for each other. */
INLINE void grad_sums(int steps, int relu, const part *q, double *sum, double *product)
{
    f32x16 line[3 * STEPS];
    for (int h = 0; h < steps; h++) {
        line[h] = *(const f32x16 *)(q->l.mean + h * SIMD_LANES);
        line[STEPS + h] = *(const f32x16 *)(q->l.scale + h * SIMD_LANES);
        line[2 * STEPS + h] = *(const f32x16 *)(q->l.shift + h * SIMD_LANES);
    }
    for (int64_t at = 0; at < q->rows; at += GROUP) {
        const int64_t end = at + GROUP < q->rows ? at + GROUP : q->rows;
        f32x16 s[2][STEPS] = {{{0}}}, p[2][STEPS] = {{{0}}};
        int64_t r = at;
        for (; r + 1 < end; r += 2) {
            grad_row(steps, relu, q, r, line, s[0], p[0]);
            grad_row(steps, relu, q, r + 1, line, s[1], p[1]);
        }
        if (r < end)
            grad_row(steps, relu, q, r, line, s[0], p[0]);
        for (int h = 0; h < steps; h++) {
            add_to(sum + h * SIMD_LANES, &s[0][h], &s[1][h]);
            add_to(product + h * SIMD_LANES, &p[0][h], &p[1][h]);
        }
    }
}

INLINE float masked(const batch_norm_line *l, int64_t k, float centred, float dy)
{
    return !l->relu || centred * l->scale[k] + l->shift[k] > 0.0f ? dy : 0.0f;
}

void batch_norm_grad_sums(const float *x, const float *dy, int64_t rows, int64_t c,
                          const batch_norm_line *line, double *sum, double *product)
{
    for (int64_t at = 0; at < rows; at += TILE) {
        const int64_t n = rows - at < TILE ? rows - at : TILE;
        const float *tx = x + at * c, *td = dy + at * c;
        int64_t k = 0, steps;
        for (; (steps = steps_at(k, c)) > 0; k += steps * SIMD_LANES) {
            const part q = {tx + k, td + k, NULL, n, c, line_at(line, k)};
#define CALL(m)                                                                                \
    q.l.relu ? grad_sums(m, 1, &q, sum + k, product + k)                                       \
             : grad_sums(m, 0, &q, sum + k, product + k)
            WITH_STEPS(steps, CALL)
#undef CALL
        }
        for (int64_t r = 0; r < n && k < c; r++) {
            for (int64_t j = k; j < c; j++) {
                const float centred = tx[r * c + j] - line->mean[j];
                const double d = (double)masked(line, j, centred, td[r * c + j]);
                sum[j] += d;
                product[j] += d * (double)centred;
            }
        }
    }
}

enum { PLAIN, RELU, ADD, ADD_RELU };

INLINE void apply(int steps, int end, const part *q)
{
    const float *x = q->x, *residual = q->other;
    float *y = q->y;
    f32x16 m[STEPS], a[STEPS], b[STEPS];
    for (int h = 0; h < steps; h++) {
        m[h] = *(const f32x16 *)(q->l.mean + h * SIMD_LANES);
        a[h] = *(const f32x16 *)(q->l.scale + h * SIMD_LANES);
        b[h] = *(const f32x16 *)(q->l.shift + h * SIMD_LANES);
    }
    for (int64_t r = 0; r < q->rows; r++) {
        for (int h = 0; h < steps; h++) {
            const int64_t i = r * q->c + h * SIMD_LANES;
            f32x16 u = (*(const f32x16 *)(x + i) - m[h]) * a[h] + b[h];
            if (end & ADD)
                u += *(const f32x16 *)(residual + i);
            if (end & RELU) /* a NaN stays one */
                u = (f32x16)((i32x16)u & ~(i32x16)(u < 0.0f));
            *(f32x16 *)(y + i) = u;
        }
    }
}

void batch_norm_apply(const float *x, const float *residual, float *y, int64_t rows, int64_t c,
                      const batch_norm_line *line)
{
    const int end = (residual ? ADD : PLAIN) | (line->relu ? RELU : PLAIN);
    int64_t k = 0, steps;
    for (; (steps = steps_at(k, c)) > 0; k += steps * SIMD_LANES) {
        const part q = {x + k,           residual ? residual + k : NULL, y + k, rows, c,
                        line_at(line, k)};
#define CALL(m)                                                                                \
    end == PLAIN  ? apply(m, PLAIN, &q)                                                        \
    : end == RELU ? apply(m, RELU, &q)                                                         \
    : end == ADD  ? apply(m, ADD, &q)                                                          \
                  : apply(m, ADD_RELU, &q)
        WITH_STEPS(steps, CALL)
#undef CALL
    }
    for (int64_t r = 0; r < rows && k < c; r++) {
        for (int64_t j = k; j < c; j++) {
            const int64_t i = r * c + j;
            const float u = (x[i] - line->mean[j]) * line->scale[j] + line->shift[j];
            const float v = residual ? u + residual[i] : u;
            y[i] = line->relu && v < 0.0f ? 0.0f : v;
        }
    }
}

INLINE void grad_apply(int steps, int relu, const part *q, const float *coef)
{
    const float *x = q->x, *dy = q->other;
    float *dx = q->y;
    f32x16 m[STEPS], a[STEPS], b[STEPS], s[STEPS], scale[STEPS], shift[STEPS];
    for (int h = 0; h < steps; h++) {
        m[h] = *(const f32x16 *)(q->l.mean + h * SIMD_LANES);
        a[h] = *(const f32x16 *)(coef + h * SIMD_LANES);
        b[h] = *(const f32x16 *)(coef + q->c + h * SIMD_LANES);
        s[h] = *(const f32x16 *)(coef + 2 * q->c + h * SIMD_LANES);
        scale[h] = *(const f32x16 *)(q->l.scale + h * SIMD_LANES);
        shift[h] = *(const f32x16 *)(q->l.shift + h * SIMD_LANES);
    }
    for (int64_t r = 0; r < q->rows; r++) {
        for (int h = 0; h < steps; h++) {
            const int64_t i = r * q->c + h * SIMD_LANES;
            const f32x16 centred = *(const f32x16 *)(x + i) - m[h];
            f32x16 d = *(const f32x16 *)(dy + i);
            if (relu)
                d = (f32x16)((i32x16)d & (i32x16)(centred * scale[h] + shift[h] > 0.0f));
            *(f32x16 *)(dx + i) = d * a[h] + centred * b[h] + s[h];
        }
    }
}

void batch_norm_grad_apply(const float *x, const float *dy, float *dx, int64_t rows, int64_t c,
                           const batch_norm_line *line, const float *coef)
{
    const float *as = coef, *bs = coef + c, *shift = coef + 2 * c;
    int64_t k = 0, steps;
    for (; (steps = steps_at(k, c)) > 0; k += steps * SIMD_LANES) {
        const part q = {x + k, dy + k, dx + k, rows, c, line_at(line, k)};
#define CALL(m) q.l.relu ? grad_apply(m, 1, &q, coef + k) : grad_apply(m, 0, &q, coef + k)
        WITH_STEPS(steps, CALL)
#undef CALL
    }
    for (int64_t r = 0; r < rows && k < c; r++) {
        for (int64_t j = k; j < c; j++) {
            const int64_t i = r * c + j;
            const float centred = x[i] - line->mean[j];
            dx[i] = masked(line, j, centred, dy[i]) * as[j] + centred * bs[j] + shift[j];
        }
    }
}
