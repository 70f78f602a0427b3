/* batch_norm_grad_loops.c - the streaming loops of the gradient, 16 channels at a time. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "batch_norm/batch_norm_part.h"

/* Where dy counts as 0: nowhere; by x; by ReLU's result; the sum of both gradients, by that. */
enum { NOWHERE, BY_X, BY_Y, SUM_BY_Y };

/* A register of dy, made and stored first where it is ReLU's gradient: what is stored counts. */
INLINE simd_f32 dy_at(int low, int where, const part *q, int64_t i)
{
    simd_f32 v = load(q->other, low, i);
    __builtin_prefetch(at(q->other, low, i + ahead(q->c)));
    if (where < BY_Y)
        return v;
    __builtin_prefetch(at(q->relu.y, low, i + ahead(q->c)));
    if (where == SUM_BY_Y) {
        v += load(q->relu.more, low, i);
        __builtin_prefetch(at(q->relu.more, low, i + ahead(q->c)));
    }
    v = (simd_f32)((simd_i32)v & (simd_i32)(load(q->relu.y, low, i) > 0.0f));
    store(q->relu.du, low, i, &v);
    return load(q->relu.du, low, i);
}

/* One row: s += v, p += v centred. */
INLINE void grad_row(int steps, int low, int where, const part *q, int64_t r,
                     const simd_f32 *line, simd_f32 *s, simd_f32 *p)
{
    const simd_f32 *m = line, *a = line + STEPS, *b = line + 2 * STEPS;
    for (int h = 0; h < steps; h++) {
        const int64_t i = r * q->c + h * SIMD_WIDTH;
        const simd_f32 centred = load(q->x, low, i) - m[h];
        simd_f32 v = dy_at(low, where, q, i);
        __builtin_prefetch(at(q->x, low, i + ahead(q->c)));
        if (where == BY_X)
            v = (simd_f32)((simd_i32)v & (simd_i32)(centred * a[h] + b[h] > 0.0f));
        s[h] += v;
        p[h] += v * centred;
    }
}

/* A few rows are added up in f32 first: gradients, unlike x, lie around 0.  Even and odd ones apart,
 * so that they do not wait for each other. */
INLINE void grad_sums(int steps, int low, int where, const part *q, double *sum,
                      double *product)
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
            grad_row(steps, low, where, q, r, line, s[0], p[0]);
            grad_row(steps, low, where, q, r + 1, line, s[1], p[1]);
        }
        if (r < end)
            grad_row(steps, low, where, q, r, line, s[0], p[0]);
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

/* A loop with where and low as constants. */
#define GRAD_SUMS_OF(m, low)                                                                   \
    where == NOWHERE ? grad_sums(m, low, NOWHERE, &q, sum + k, product + k)                    \
    : where == BY_X  ? grad_sums(m, low, BY_X, &q, sum + k, product + k)                       \
    : where == BY_Y  ? grad_sums(m, low, BY_Y, &q, sum + k, product + k)                       \
                     : grad_sums(m, low, SUM_BY_Y, &q, sum + k, product + k)
#define GRAD_SUMS(m) GRAD_SUMS_OF(m, 0)
#define LOW_GRAD_SUMS(m) GRAD_SUMS_OF(m, 1)

/* The same arrays from element i on. */
INLINE batch_norm_relu_grad relu_at(const batch_norm_relu_grad *r, int low, int64_t i)
{
    if (!r->y)
        return *r;
    return (batch_norm_relu_grad){at(r->y, low, i), r->more ? at(r->more, low, i) : NULL,
                                  (void *)(uintptr_t)at(r->du, low, i)};
}

/* dy of element i, of channel k; made and stored first where it is ReLU's gradient. */
INLINE float dy_number(const part *q, int low, int where, int64_t i, int64_t k, float centred)
{
    const float dy = number(q->other, low, i);
    if (where < BY_Y)
        return where == BY_X ? masked(&q->l, k, centred, dy) : dy;
    const float sum = where == SUM_BY_Y ? dy + number(q->relu.more, low, i) : dy;
    set_number(q->relu.du, low, i, number(q->relu.y, low, i) > 0.0f ? sum : 0.0f);
    return number(q->relu.du, low, i);
}

/* Rows `all` from channel k on, which are no whole register. */
static void grad_sums_rest(const part *all, int low, int where, int64_t k, double *sum,
                           double *product)
{
    for (int64_t r = 0; r < all->rows; r++) {
        for (int64_t j = k; j < all->c; j++) {
            const int64_t i = r * all->c + j;
            const float centred = number(all->x, low, i) - all->l.mean[j];
            const double d = (double)dy_number(all, low, where, i, j, centred);
            sum[j] += d;
            product[j] += d * (double)centred;
        }
    }
}

INLINE void grad_sums_of(const part *whole, int low, int where, double *sum, double *product)
{
    const int64_t c = whole->c, tile = rows_summed(c);
    for (int64_t first = 0; first < whole->rows; first += tile) {
        const int64_t left = whole->rows - first, n = left < tile ? left : tile;
        int64_t k = 0, steps;
        part q = *whole;
        for (; (steps = steps_at(k, c)) > 0; k += steps * SIMD_WIDTH) {
            const int64_t i = first * c + k;
            q = (part){at(whole->x, low, i),  at(whole->other, low, i),     NULL, n, c,
                       line_at(&whole->l, k), relu_at(&whole->relu, low, i)};
            if (low)
                WITH_STEPS(steps, LOW_GRAD_SUMS)
            else
                WITH_STEPS(steps, GRAD_SUMS)
        }
        q = (part){at(whole->x, low, first * c),
                   at(whole->other, low, first * c),
                   NULL,
                   n,
                   c,
                   whole->l,
                   relu_at(&whole->relu, low, first * c)};
        if (k < c)
            grad_sums_rest(&q, low, where, k, sum, product);
    }
}

void batch_norm_grad_sums(const void *x, const void *dy, int32_t low, int64_t rows, int64_t c,
                          const batch_norm_line *line, double *sum, double *product)
{
    const part whole = {x, dy, NULL, rows, c, *line, {NULL, NULL, NULL}};
    grad_sums_of(&whole, low, line->relu ? BY_X : NOWHERE, sum, product);
}

void batch_norm_relu_grad_sums(const void *x, const void *dy, const batch_norm_relu_grad *relu,
                               int32_t low, int64_t rows, int64_t c,
                               const batch_norm_line *line, double *sum, double *product)
{
    const part whole = {x, dy, NULL, rows, c, *line, *relu};
    grad_sums_of(&whole, low, relu->more ? SUM_BY_Y : BY_Y, sum, product);
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
            at(x, low, k),    at(dy, low, k),    (void *)(uintptr_t)at(dx, low, k), rows, c,
            line_at(line, k), {NULL, NULL, NULL}};
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
