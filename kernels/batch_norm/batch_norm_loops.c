/* batch_norm_loops.c - the streaming loops, 16 channels at a time. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "batch_norm/batch_norm.h"
#include "common/simd.h"

/* A step is the channels of a register of f32, or of two of f64; up to 64 neighbouring channels of a row are done at
 * once, so that rows are read as they lie in memory.  Channels beyond a multiple of 16 go one by one at every level,
 * so that no CPU changes a sum. */
enum { HALF = SIMD_WIDTH / 2, STEPS = 64 / SIMD_WIDTH, TILE = 64, GROUP = 16, WIDE = 1024 };

#define INLINE SIMD_INLINE

/* How many rows go through the channels together.  Sums take as many as they add up in registers.  What is written goes
 * row by row, in the order of memory, as long as what is known of all channels leaves room in the first cache; few rows
 * share what is loaded of them otherwise. */
INLINE int64_t rows_summed(int64_t c)
{
    return c <= TILE ? TILE : GROUP;
}

INLINE int64_t rows_written(int64_t c)
{
    return c <= TILE ? TILE : c <= WIDE ? 1 : 2;
}

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
    case 4:                                                                                    \
        call(4);                                                                               \
        break;                                                                                 \
    default:                                                                                   \
        call(STEPS);                                                                           \
    }

/* Steps to do at once from channel k on: all, or 4 at most. */
INLINE int64_t steps_at(int64_t k, int64_t c)
{
    const int64_t left = (c / SIMD_LANES * SIMD_LANES - k) / SIMD_WIDTH;
    return left >= STEPS ? STEPS : left < 4 ? left : 4;
}

/* Element k of an array of bf16 (`low`) or f32. */
INLINE const void *at(const void *x, int low, int64_t k)
{
    return (const char *)x + k * (low ? 2 : 4);
}

INLINE float number(const void *x, int low, int64_t k)
{
    return low ? half_from_bf16(((const uint16_t *)x)[k]) : ((const float *)x)[k];
}

INLINE void set_number(void *x, int low, int64_t k, float v)
{
    if (low)
        ((uint16_t *)x)[k] = half_to_bf16(v);
    else
        ((float *)x)[k] = v;
}

/* A register from element k on. */
INLINE simd_f32 load(const void *x, int low, int64_t k)
{
    simd_f32 v;
    if (low)
        simd_load_bf16((const uint16_t *)x + k, &v);
    else
        v = *(const simd_f32 *)((const float *)x + k);
    return v;
}

INLINE void store(void *x, int low, int64_t k, const simd_f32 *v)
{
    if (low)
        simd_store_bf16(v, (uint16_t *)x + k);
    else
        *(simd_f32 *)((float *)x + k) = *v;
}

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
            __builtin_prefetch(x + r * c + h * HALF + SIMD_PREFETCH);
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

/* sum += a + b, that sum in f32 */
INLINE void add_to(double *sum, const simd_f32 *a, const simd_f32 *b)
{
    const simd_f32 v = *a + *b;
    simd_f64 half[2];
    simd_to_f64(&v, half);
    *(simd_f64 *)sum += half[0];
    *(simd_f64 *)(sum + HALF) += half[1];
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
                __builtin_prefetch(from + TILE);
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
            steps = steps < 4 ? steps : 4; /* sums and squares fill the registers */
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

/* Rows of some channels of wider rows: `c` apart, the pointers at the first of those channels. */
typedef struct part {
    const void *x;
    const void *other; /* dy or the residual */
    void *y;
    int64_t rows, c;
    batch_norm_line l;
} part;

INLINE batch_norm_line line_at(const batch_norm_line *l, int64_t k)
{
    return (batch_norm_line){l->mean + k, l->scale + k, l->shift + k, l->relu};
}

/* One row: s += v, p += v centred. */
INLINE void grad_row(int steps, int low, int relu, const part *q, int64_t r,
                     const simd_f32 *line, simd_f32 *s, simd_f32 *p)
{
    const simd_f32 *m = line, *a = line + STEPS, *b = line + 2 * STEPS;
    for (int h = 0; h < steps; h++) {
        const int64_t i = r * q->c + h * SIMD_WIDTH;
        const simd_f32 centred = load(q->x, low, i) - m[h];
        simd_f32 v = load(q->other, low, i);
        __builtin_prefetch(at(q->x, low, i + TILE));
        __builtin_prefetch(at(q->other, low, i + TILE));
        if (relu)
            v = (simd_f32)((simd_i32)v & (simd_i32)(centred * a[h] + b[h] > 0.0f));
        s[h] += v;
        p[h] += v * centred;
    }
}

/* A few rows are added up in f32 first: gradients, unlike x, lie around 0.  Even and odd ones apart,
 * so that they do not wait for each other. */
INLINE void grad_sums(int steps, int low, int relu, const part *q, double *sum, double *product)
{
    simd_f32 line[3 * STEPS];
    for (int h = 0; h < steps; h++) {
        line[h] = *(const simd_f32 *)(q->l.mean + h * SIMD_WIDTH);
        line[STEPS + h] = *(const simd_f32 *)(q->l.scale + h * SIMD_WIDTH);
        line[2 * STEPS + h] = *(const simd_f32 *)(q->l.shift + h * SIMD_WIDTH);
    }
    for (int64_t first = 0; first < q->rows; first += GROUP) {
        const int64_t end = first + GROUP < q->rows ? first + GROUP : q->rows;
        simd_f32 s[2][STEPS] = {{{0}}}, p[2][STEPS] = {{{0}}};
        int64_t r = first;
        for (; r + 1 < end; r += 2) {
            grad_row(steps, low, relu, q, r, line, s[0], p[0]);
            grad_row(steps, low, relu, q, r + 1, line, s[1], p[1]);
        }
        if (r < end)
            grad_row(steps, low, relu, q, r, line, s[0], p[0]);
        for (int h = 0; h < steps; h++) {
            add_to(sum + h * SIMD_WIDTH, &s[0][h], &s[1][h]);
            add_to(product + h * SIMD_WIDTH, &p[0][h], &p[1][h]);
        }
    }
}

INLINE float masked(const batch_norm_line *l, int64_t k, float centred, float dy)
{
    return !l->relu || centred * l->scale[k] + l->shift[k] > 0.0f ? dy : 0.0f;
}

/* A loop with relu and low as constants. */
#define GRAD_SUMS(m)                                                                           \
    q.l.relu ? grad_sums(m, 0, 1, &q, sum + k, product + k)                                    \
             : grad_sums(m, 0, 0, &q, sum + k, product + k)
#define LOW_GRAD_SUMS(m)                                                                       \
    q.l.relu ? grad_sums(m, 1, 1, &q, sum + k, product + k)                                    \
             : grad_sums(m, 1, 0, &q, sum + k, product + k)

void batch_norm_grad_sums(const void *x, const void *dy, int32_t low, int64_t rows, int64_t c,
                          const batch_norm_line *line, double *sum, double *product)
{
    const int64_t tile = rows_summed(c);
    for (int64_t first = 0; first < rows; first += tile) {
        const int64_t n = rows - first < tile ? rows - first : tile;
        int64_t k = 0, steps;
        for (; (steps = steps_at(k, c)) > 0; k += steps * SIMD_WIDTH) {
            const part q = {at(x, low, first * c + k), at(dy, low, first * c + k), NULL, n, c,
                            line_at(line, k)};
            if (low)
                WITH_STEPS(steps, LOW_GRAD_SUMS)
            else
                WITH_STEPS(steps, GRAD_SUMS)
        }
        for (int64_t r = first; r < first + n && k < c; r++) {
            for (int64_t j = k; j < c; j++) {
                const float centred = number(x, low, r * c + j) - line->mean[j];
                const double d = (double)masked(line, j, centred, number(dy, low, r * c + j));
                sum[j] += d;
                product[j] += d * (double)centred;
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
                        line_at(line, k)};
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

INLINE void grad_apply(int steps, int low, int relu, const part *q, const float *coef)
{
    simd_f32 m[STEPS], a[STEPS], b[STEPS], s[STEPS], scale[STEPS], shift[STEPS];
    for (int h = 0; h < steps; h++) {
        m[h] = *(const simd_f32 *)(q->l.mean + h * SIMD_WIDTH);
        a[h] = *(const simd_f32 *)(coef + h * SIMD_WIDTH);
        b[h] = *(const simd_f32 *)(coef + q->c + h * SIMD_WIDTH);
        s[h] = *(const simd_f32 *)(coef + 2 * q->c + h * SIMD_WIDTH);
        scale[h] = *(const simd_f32 *)(q->l.scale + h * SIMD_WIDTH);
        shift[h] = *(const simd_f32 *)(q->l.shift + h * SIMD_WIDTH);
    }
    for (int64_t r = 0; r < q->rows; r++) {
        for (int h = 0; h < steps; h++) {
            const int64_t i = r * q->c + h * SIMD_WIDTH;
            const simd_f32 centred = load(q->x, low, i) - m[h];
            simd_f32 d = load(q->other, low, i);
            if (relu)
                d = (simd_f32)((simd_i32)d & (simd_i32)(centred * scale[h] + shift[h] > 0.0f));
            const simd_f32 v = d * a[h] + centred * b[h] + s[h];
            store(q->y, low, i, &v);
        }
    }
}

#define GRAD_APPLY(m)                                                                          \
    q.l.relu ? grad_apply(m, 0, 1, &q, coef + k) : grad_apply(m, 0, 0, &q, coef + k)
#define LOW_GRAD_APPLY(m)                                                                      \
    q.l.relu ? grad_apply(m, 1, 1, &q, coef + k) : grad_apply(m, 1, 0, &q, coef + k)

static void grad_apply_rows(const void *x, const void *dy, void *dx, int32_t low, int64_t rows,
                            int64_t c, const batch_norm_line *line, const float *coef)
{
    const float *as = coef, *bs = coef + c, *shift = coef + 2 * c;
    int64_t k = 0, steps;
    for (; (steps = steps_at(k, c)) > 0; k += steps * SIMD_WIDTH) {
        const part q = {
            at(x, low, k),   at(dy, low, k), (void *)(uintptr_t)at(dx, low, k), rows, c,
            line_at(line, k)};
        if (low)
            WITH_STEPS(steps, LOW_GRAD_APPLY)
        else
            WITH_STEPS(steps, GRAD_APPLY)
    }
    for (int64_t r = 0; r < rows && k < c; r++) {
        for (int64_t j = k; j < c; j++) {
            const int64_t i = r * c + j;
            const float centred = number(x, low, i) - line->mean[j];
            const float d = masked(line, j, centred, number(dy, low, i));
            set_number(dx, low, i, d * as[j] + centred * bs[j] + shift[j]);
        }
    }
}

void batch_norm_grad_apply(const void *x, const void *dy, void *dx, int32_t low, int64_t rows,
                           int64_t c, const batch_norm_line *line, const float *coef)
{
    const int64_t tile = rows_written(c);
    for (int64_t first = 0; first < rows; first += tile) {
        const int64_t i = first * c, n = rows - first < tile ? rows - first : tile;
        grad_apply_rows(at(x, low, i), at(dy, low, i), (void *)(uintptr_t)at(dx, low, i), low,
                        n, c, line, coef);
    }
}
