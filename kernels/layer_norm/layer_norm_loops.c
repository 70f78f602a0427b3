/* layer_norm_loops.c - rows forward and backward, from the cache but for the first look at them. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/half_rows.h"
#include "common/simd.h"
#include "layer_norm/layer_norm.h"

#include <math.h>
#include <string.h>

/* Sums go in f32 over SOME numbers of a row, TILE of them side by side, and then in f64. */
enum { SIDE = 4, TILE = SIDE * SIMD_LANES, SOME = 16 * TILE };

#define INLINE SIMD_INLINE

/* Whether results become bf16 in registers, by an instruction; elsewhere a loop over a row in the cache is faster. */
#if defined(__AVX512BF16__) || defined(__ARM_FEATURE_BF16_VECTOR_ARITHMETIC)
enum { ROUNDS = 1 };
#else
enum { ROUNDS = 0 };
#endif

INLINE double join(const f32x16 *s)
{
    const f32x16 all = (s[0] + s[1]) + (s[2] + s[3]);
    return simd_sum(&all);
}

INLINE double sum_of(const float *x, int64_t n)
{
    double sum = 0.0;
    for (int64_t at = 0; at < n; at += SOME) {
        const int64_t end = at + SOME < n ? at + SOME : n;
        f32x16 s[SIDE] = {{0}}, rest;
        int64_t i = at;
        for (; i + TILE <= end; i += TILE)
            for (int k = 0; k < SIDE; k++)
                s[k] += *(const f32x16 *)(x + i + k * SIMD_LANES);
        for (; i + SIMD_LANES <= end; i += SIMD_LANES)
            s[0] += *(const f32x16 *)(x + i);
        if (i < end) {
            simd_load_some(x + i, end - i, 0.0f, &rest);
            s[1] += rest;
        }
        sum += join(s);
    }
    return sum;
}

INLINE void add_square(const f32x16 *x, float shift, f32x16 *s, f32x16 *q)
{
    const f32x16 d = *x - shift;
    *s += d;
    *q += d * d;
}

/* sum (x - shift), sum (x - shift)^2 */
INLINE void squares_of(const float *x, float shift, int64_t n, double *ret_sum,
                       double *ret_square)
{
    double sum = 0.0, square = 0.0;
    for (int64_t at = 0; at < n; at += SOME) {
        const int64_t end = at + SOME < n ? at + SOME : n;
        f32x16 s[SIDE] = {{0}}, q[SIDE] = {{0}}, rest;
        int64_t i = at;
        for (; i + TILE <= end; i += TILE)
            for (int k = 0; k < SIDE; k++)
                add_square((const f32x16 *)(x + i + k * SIMD_LANES), shift, &s[k], &q[k]);
        for (; i + SIMD_LANES <= end; i += SIMD_LANES)
            add_square((const f32x16 *)(x + i), shift, &s[0], &q[0]);
        if (i < end) {
            simd_load_some(x + i, end - i, shift, &rest);
            add_square(&rest, shift, &s[1], &q[1]);
        }
        sum += join(s);
        square += join(q);
    }
    *ret_sum = sum;
    *ret_square = square;
}

/* Elements from `at` on come into the cache meanwhile. */
INLINE void prefetch(const void *data, int32_t dtype, int64_t at, int64_t n)
{
    const int64_t size = half_is(dtype) ? 2 : 4;
    const char *from = (const char *)data + at * size;
    for (int64_t i = 0; i < n * size; i += SIMD_LANES * 4)
        __builtin_prefetch(from + i);
}

/* What a row becomes, as bf16. */
INLINE void put_row(const float *x, float mean, float rstd, const float *gamma,
                    const float *beta, int64_t n, uint16_t *y)
{
    int64_t i = 0;
    for (; i + SIMD_WIDTH <= n; i += SIMD_WIDTH) {
        const simd_f32 v =
            (*(const simd_f32 *)(x + i) - mean) * rstd * *(const simd_f32 *)(gamma + i) +
            *(const simd_f32 *)(beta + i);
        simd_store_bf16(&v, y + i);
    }
    for (; i < n; i++)
        y[i] = half_to_bf16((x[i] - mean) * rstd * gamma[i] + beta[i]);
}

/* The mean of a first pass is rounded; the second one tells how far it is off. */
INLINE void row_statistics(const float *x, int64_t n, double eps, float *ret_mean,
                           float *ret_rstd)
{
    const float about = (float)(sum_of(x, n) / (double)n);
    double sum, square;
    squares_of(x, about, n, &sum, &square);
    const double off = sum / (double)n, var = square / (double)n - off * off;
    *ret_mean = (float)((double)about + off);
    *ret_rstd = (float)(1.0 / sqrt((var < 0.0 ? 0.0 : var) + eps));
}

INLINE void finish_row(const float *x, float mean, float rstd, const float *gamma,
                       const float *beta, int64_t n, float *y)
{
    OP_LOOP for (int64_t i = 0; i < n; i++)
    {
        y[i] = (x[i] - mean) * rstd * gamma[i] + beta[i];
    }
}

INLINE void forward_f32(const float *x, const float *gamma, const float *beta, double eps,
                        float *y, int64_t rows, int64_t n, float *mean, float *rstd)
{
    for (int64_t r = 0; r < rows; r++, x += n, y += n) {
        float m, s;
        row_statistics(x, n, eps, &m, &s);
        for (int64_t i = 0; i < n; i += SIMD_LANES)
            __builtin_prefetch(x + n + i);
        finish_row(x, m, s, gamma, beta, n, y);
        mean[r] = m;
        rstd[r] = s;
    }
}

/* A row that is in the cache, once more. */
INLINE void repeat_row(const layer_norm_part *q, int64_t at, const float *y)
{
    if (half_is(q->low_dtype))
        half_write(q->low, q->low_dtype, at, q->n, y);
    else
        memcpy((float *)q->low + at, y, (size_t)q->n * sizeof *y);
}

void layer_norm_forward(const layer_norm_part *q, int64_t first, int64_t end)
{
    const int64_t n = q->n;
    if (!half_is(q->x_dtype) && !half_is(q->y_dtype) && !q->low) {
        forward_f32((const float *)q->x + first * n, q->gamma, q->beta, q->eps,
                    (float *)q->y + first * n, end - first, n, q->mean + first,
                    q->rstd + first);
        return;
    }
    for (int64_t r = first; r < end; r++) {
        float m, s;
        const float *x = half_read(q->x, q->x_dtype, r * n, n, q->row);
        float *y = half_place(q->y, q->y_dtype, r * n, q->row);
        row_statistics(x, n, q->eps, &m, &s);
        prefetch(q->x, q->x_dtype, (r + 1) * n, n);
        if (ROUNDS && q->y_dtype == TUTTI_BF16 && !q->low) {
            put_row(x, m, s, q->gamma, q->beta, n, (uint16_t *)q->y + r * n);
        } else {
            finish_row(x, m, s, q->gamma, q->beta, n, y);
            half_write(q->y, q->y_dtype, r * n, n, y);
        }
        if (q->low)
            repeat_row(q, r * n, y);
        q->mean[r] = m;
        q->rstd[r] = s;
    }
}

INLINE void add_product(const f32x16 *x, const f32x16 *dy, const f32x16 *gamma, float mean,
                        f32x16 *s, f32x16 *p)
{
    const f32x16 d = *dy * *gamma;
    *s += d;
    *p += d * (*x - mean);
}

/* sum d, sum d (x - mean) with d = dy gamma */
INLINE void products_of(const float *x, const float *dy, const float *gamma, float mean,
                        int64_t n, double *ret_sum, double *ret_product)
{
    double sum = 0.0, product = 0.0;
    for (int64_t at = 0; at < n; at += SOME) {
        const int64_t end = at + SOME < n ? at + SOME : n;
        f32x16 s[SIDE] = {{0}}, p[SIDE] = {{0}};
        int64_t i = at;
        for (; i + TILE <= end; i += TILE)
            for (int k = 0; k < SIDE; k++)
                add_product((const f32x16 *)(x + i + k * SIMD_LANES),
                            (const f32x16 *)(dy + i + k * SIMD_LANES),
                            (const f32x16 *)(gamma + i + k * SIMD_LANES), mean, &s[k], &p[k]);
        for (; i + SIMD_LANES <= end; i += SIMD_LANES)
            add_product((const f32x16 *)(x + i), (const f32x16 *)(dy + i),
                        (const f32x16 *)(gamma + i), mean, &s[0], &p[0]);
        if (i < end) {
            f32x16 vx, vd, vg;
            simd_load_some(x + i, end - i, mean, &vx);
            simd_load_some(dy + i, end - i, 0.0f, &vd);
            simd_load_some(gamma + i, end - i, 0.0f, &vg);
            add_product(&vx, &vd, &vg, mean, &s[1], &p[1]);
        }
        sum += join(s);
        product += join(p);
    }
    *ret_sum = sum;
    *ret_product = product;
}

/* What a row needs for its dx = dy gamma rstd + xhat by_xhat + shift. */
typedef struct line {
    float mean, rstd, by_xhat, shift;
} line;

/* Some rows in F32. */
typedef struct block {
    const float *x, *dy, *gamma, *more;
    float *dx, *dgamma, *dbeta;
    uint16_t *low; /* dx as bf16 besides, or NULL */
    int64_t n;
} block;

INLINE void put_bf16(const f32x16 *v, uint16_t *to)
{
    for (int k = 0; k < SIMD_LANES / SIMD_WIDTH; k++)
        simd_store_bf16((const simd_f32 *)v + k, to + k * SIMD_WIDTH);
}

/* Columns [i, i + 16) of `m` rows; m, plus and low are constants; meanwhile the rows that come next are fetched. */
INLINE void grad_step(int m, int plus, int low, const block *q, int64_t at, int64_t i,
                      const line *l)
{
    const f32x16 gamma = *(const f32x16 *)(q->gamma + i);
    f32x16 by_gamma = *(const f32x16 *)(q->dgamma + i);
    f32x16 by_beta = *(const f32x16 *)(q->dbeta + i);
    for (int k = 0; k < m; k++) {
        const int64_t j = at + k * q->n + i;
        const f32x16 g = *(const f32x16 *)(q->dy + j);
        const f32x16 xhat = (*(const f32x16 *)(q->x + j) - l[k].mean) * l[k].rstd;
        f32x16 dx = g * gamma * l[k].rstd + (xhat * l[k].by_xhat + l[k].shift);
        if (plus)
            dx += *(const f32x16 *)(q->more + j);
        __builtin_prefetch(q->x + j + m * q->n);
        __builtin_prefetch(q->dy + j + m * q->n);
        __builtin_prefetch(q->dx + j + m * q->n, 1);
        by_gamma += g * xhat;
        by_beta += g;
        *(f32x16 *)(q->dx + j) = dx;
        if (low) {
            __builtin_prefetch(q->low + j + m * q->n, 1);
            put_bf16(&dx, q->low + j);
        }
    }
    *(f32x16 *)(q->dgamma + i) = by_gamma;
    *(f32x16 *)(q->dbeta + i) = by_beta;
}

/* `m` rows from element `at` on: gamma's and beta's sums are read and written once for all of them. */
INLINE void grad_of(int m, int plus, int low, const block *q, int64_t at, const line *l)
{
    int64_t i = 0;
    for (; i + SIMD_LANES <= q->n; i += SIMD_LANES)
        grad_step(m, plus, low, q, at, i, l);
    for (; i < q->n; i++) {
        for (int k = 0; k < m; k++) {
            const int64_t j = at + k * q->n + i;
            const float g = q->dy[j], xhat = (q->x[j] - l[k].mean) * l[k].rstd;
            const float more = plus ? q->more[j] : 0.0f;
            q->dgamma[i] += g * xhat;
            q->dbeta[i] += g;
            const float dx =
                g * q->gamma[i] * l[k].rstd + (xhat * l[k].by_xhat + l[k].shift) + more;
            q->dx[j] = dx;
            if (low)
                q->low[j] = half_to_bf16(dx);
        }
    }
}

/* Rows as F32, where they lie or in the thread's memory. */
INLINE block block_of(const layer_norm_grad_part *q, int64_t at, int64_t count)
{
    const int64_t size = LAYER_NORM_ROWS * q->n;
    float *rows = q->rows;
    block b = {.gamma = q->gamma, .dgamma = q->dgamma, .dbeta = q->dbeta, .n = q->n};
    b.x = half_read(q->x, q->x_dtype, at, count, rows);
    b.dy = half_read(q->dy, q->dy_dtype, at, count, rows + size);
    if (q->more)
        b.more = half_read(q->more, q->more_dtype, at, count, rows + 2 * size);
    b.dx = half_place(q->dx, q->dx_dtype, at, rows + 3 * size);
    if (ROUNDS && (q->low ? q->low_dtype == TUTTI_BF16 : q->dx_dtype == TUTTI_BF16))
        b.low = (uint16_t *)(q->low ? q->low : q->dx) + at;
    return b;
}

/* What the block has not written yet. */
INLINE void store(const layer_norm_grad_part *q, int64_t at, int64_t count, const block *b)
{
    if (q->low || !b->low)
        half_write(q->dx, q->dx_dtype, at, count, b->dx);
    if (!q->low || b->low)
        return;
    if (half_is(q->low_dtype))
        half_write(q->low, q->low_dtype, at, count, b->dx);
    else
        memcpy((float *)q->low + at, b->dx, (size_t)count * sizeof *b->dx);
}

INLINE void grad_of_four(const block *b, const line *l)
{
    if (b->more && b->low)
        grad_of(LAYER_NORM_ROWS, 1, 1, b, 0, l);
    else if (b->more)
        grad_of(LAYER_NORM_ROWS, 1, 0, b, 0, l);
    else if (b->low)
        grad_of(LAYER_NORM_ROWS, 0, 1, b, 0, l);
    else
        grad_of(LAYER_NORM_ROWS, 0, 0, b, 0, l);
}

void layer_norm_backward(const layer_norm_grad_part *q, int64_t first, int64_t end)
{
    enum { AT_ONCE = LAYER_NORM_ROWS };
    for (int64_t r = first; r < end; r += AT_ONCE) {
        const int64_t some = end - r < AT_ONCE ? end - r : AT_ONCE;
        const block b = block_of(q, r * q->n, some * q->n);
        line l[AT_ONCE];
        for (int64_t k = 0; k < some; k++) {
            const float mean = q->mean[r + k], rstd = q->rstd[r + k];
            double sum, product;
            products_of(b.x + k * q->n, b.dy + k * q->n, q->gamma, mean, q->n, &sum, &product);
            const double each = (double)rstd / (double)q->n;
            l[k] = (line){mean, rstd, (float)(-product * each * (double)rstd),
                          (float)(-sum * each)};
        }
        if (some == AT_ONCE)
            grad_of_four(&b, l);
        for (int64_t k = 0; k < some && some < AT_ONCE; k++)
            grad_of(1, b.more != NULL, b.low != NULL, &b, k * q->n, l + k);
        store(q, r * q->n, some * q->n, &b);
    }
}
