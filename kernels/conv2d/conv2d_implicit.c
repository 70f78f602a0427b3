/* conv2d_implicit.c - implicit GEMM: convolutions and their gradients as products of patches that lie nowhere. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/gemm.h"
#include "conv2d/conv2d_algorithms.h"

#include <stdlib.h>
#include <string.h>

/* With patches (P, K), K = KH KW C numbers of x for each of P pixels of y:
 *   y (P, O) = patches w^T + bias, dw (O, K) = dy^T patches.
 * dx is a convolution of dy for each remainder of its rows by SH and of its columns by SW, with the taps that meet these
 * pixels: dx (P, C) = patches of dy (P, taps O) by w in the order (taps, O, C).  Panels of patches, and of w in that
 * order, are cut while they are packed. */

/* Rows, or columns, of the pixels that one product writes, and what its patches read for them. */
typedef struct axis {
    int64_t n, step; /* so many, and pixels that are read from one to the next */
    int64_t size;    /* pixels that can be read, zeros beyond */
    int64_t taps;    /* tap t of number i reads i * step + first + t * apart */
    int64_t first, apart;
    int64_t tap, next; /* which is the filter's tap + t * next */
} axis;

/* One product. */
typedef struct product {
    gemm p;
    axis h, w;
    int64_t channels; /* that are read of a pixel */
    int64_t run;  /* numbers of a patch that lie together where nothing is beyond a border */
    int64_t size; /* bytes of one of them */
    int64_t row, col; /* of dx: the first pixel */
} product;

struct conv2d_implicit {
    conv2d_geometry g;
    conv2d_dtypes t;
    int32_t kind, threads;
    int32_t gaps; /* pixels of dx that no tap meets */
    int32_t products;
    product product[];
};

int conv2d_implicit_fits(const conv2d_geometry *g)
{
    return g->g == 1 && g->b * g->oh * g->ow * g->o * g->kh * g->kw * g->c > 0;
}

/* ---- plans ---- */

static axis forward_axis(int64_t n, int64_t step, int64_t size, int64_t taps, int64_t border,
                         int64_t apart)
{
    return (axis){n, step, size, taps, -border, apart, 0, 1};
}

/* For every `step`th of n pixels of dx from `at` on; the last tap comes first, so that they read from left to right. */
static axis input_axis(int64_t at, int64_t n, int64_t step, int64_t size, int64_t taps,
                       int64_t border, int64_t apart)
{
    axis r = {.n = (n - at + step - 1) / step, .step = 1, .size = size};
    for (int64_t u = taps - 1; u >= 0; u--) {
        const int64_t from = at + border - u * apart;
        if (from % step)
            continue;
        if (r.taps == 0) {
            r.tap = u;
            r.first = from / step;
        } else if (r.taps == 1) {
            r.next = u - r.tap;
            r.apart = from / step - r.first;
        }
        r.taps++;
    }
    return r;
}

static gemm gemm_of(const conv2d_implicit *s, const product *q)
{
    const conv2d_geometry *g = &s->g;
    const conv2d_dtypes *t = &s->t;
    const int64_t pixels = g->b * q->h.n * q->w.n, k = q->h.taps * q->w.taps * q->channels;
    gemm p = {.m = pixels, .n = g->o, .k = k, .a_row = k, .a_col = 1, .b_row = 1, .b_col = k};
    p.a_dtype = t->x;
    p.b_dtype = t->w;
    p.unstored = t->y != TUTTI_F32;
    if (s->kind == DNN_CONV_GRAD_INPUT) {
        p.n = g->c;
        p.b_row = g->c;
        p.b_col = 1;
        p.a_dtype = t->y;
        p.unstored = t->x != TUTTI_F32 || conv2d_skips(g);
    } else if (s->kind == DNN_CONV_GRAD_WEIGHT) {
        p = (gemm){
            .m = g->o, .n = k, .k = pixels, .a_row = 1, .a_col = g->o, .b_row = k, .b_col = 1};
        p.a_dtype = t->y;
        p.b_dtype = t->x;
        p.unstored = t->w != TUTTI_F32;
    }
    p.y_row = p.n;
    p.threads = s->threads;
    p.factor = t->factor;
    return p;
}

/* Those of dx one after the other; the only one of the other two. */
static product product_at(const conv2d_implicit *s, int64_t row, int64_t col)
{
    const conv2d_geometry *g = &s->g;
    const int input = s->kind == DNN_CONV_GRAD_INPUT;
    product q = {.row = row, .col = col, .channels = input ? g->o : g->c};
    q.h = input ? input_axis(row, g->h, g->sh, g->oh, g->kh, g->ph, g->dh)
                : forward_axis(g->oh, g->sh, g->h, g->kh, g->ph, g->dh);
    q.w = input ? input_axis(col, g->w, g->sw, g->ow, g->kw, g->pw, g->dw)
                : forward_axis(g->ow, g->sw, g->w, g->kw, g->pw, g->dw);
    q.run = q.w.apart == 1 ? q.w.taps * q.channels : q.channels;
    q.size = (int64_t)tutti_dtype_size(input ? s->t.y : s->t.x);
    q.p = gemm_of(s, &q);
    return q;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

tutti_status conv2d_implicit_create(int32_t kind, const conv2d_geometry *g,
                                    const conv2d_dtypes *t, int32_t threads,
                                    const struct gemm_microkernel *u, conv2d_implicit **ret,
                                    uint64_t *ret_scratch, tutti_error *err)
{
    const int input = kind == DNN_CONV_GRAD_INPUT;
    const int64_t rows = input ? least(g->sh, g->h) : 1, cols = input ? least(g->sw, g->w) : 1;
    conv2d_implicit *s = calloc(1, sizeof *s + (size_t)(rows * cols) * sizeof(product));
    if (!s)
        return tutti_fail(err, TUTTI_E_NOMEM, "conv2d: no memory for its state");
    s->g = *g;
    s->t = *t;
    s->kind = kind;
    s->threads = threads;
    *ret_scratch = 0;
    for (int64_t k = 0; k < rows * cols; k++) {
        product q = product_at(s, k / cols, k % cols);
        uint64_t scratch = 0;
        q.p.microkernel = u;
        if (q.p.k == 0) {
            s->gaps = 1;
            continue;
        }
        if (gemm_plan(&q.p, &scratch)) {
            free(s);
            return tutti_fail(err, TUTTI_E_UNSUPPORTED, "conv2d: no products on this CPU");
        }
        s->product[s->products++] = q;
        *ret_scratch = scratch > *ret_scratch ? scratch : *ret_scratch;
    }
    *ret = s;
    return TUTTI_OK;
}

void conv2d_implicit_destroy(conv2d_implicit *s)
{
    free(s);
}

/* ---- runs ---- */

/* One product's data. */
typedef struct job {
    const conv2d_implicit *s;
    const product *q;
    const char *pixels, *filters; /* what is read */
    char *out;
} job;

/* Most pieces are a panel's columns of 16 bits. */
static void copy(char *to, const char *from, int64_t bytes)
{
    if (bytes == 32)
        memcpy(to, from, 32);
    else if (bytes == 64)
        memcpy(to, from, 64);
    else
        memcpy(to, from, (size_t)bytes);
}

static int64_t between(int64_t x, int64_t most)
{
    return x < 0 ? 0 : least(x, most);
}

/* Numbers [k, k + n) of a patch, which are of one run, for `rows` patches; a patch is `apart` bytes from the next. */
static void cut_run(const job *o, int64_t row, int64_t rows, int64_t k, int64_t n, char *to,
                    int64_t apart)
{
    const product *q = o->q;
    const axis *h = &q->h, *w = &q->w;
    const int64_t line = w->taps * q->channels;
    const int64_t v = q->run == line ? 0 : k % line / q->channels;
    const int64_t at =
        k % line - v * q->channels; /* from the first number of the run's pixel */
    const int64_t up = h->first + k / line * h->apart, left = w->first + v * w->apart;
    int64_t image = row / (h->n * w->n), i = row / w->n % h->n, j = row % w->n;
    for (int64_t r = 0; r < rows; r++, to += apart) {
        const int64_t y = i * h->step + up, x = j * w->step + left;
        const int inside = y >= 0 && y < h->size;
        const int64_t end = inside ? between((w->size - x) * q->channels - at, n) : 0;
        const int64_t begin = between(-x * q->channels - at, end);
        const int64_t from = ((image * h->size + y) * w->size + x) * q->channels + at;
        if (begin > 0)
            memset(to, 0, (size_t)(begin * q->size));
        if (begin < end)
            copy(to + begin * q->size, o->pixels + (from + begin) * q->size,
                 (end - begin) * q->size);
        if (end < n)
            memset(to + end * q->size, 0, (size_t)((n - end) * q->size));
        if (++j == w->n) {
            j = 0;
            i = i + 1 == h->n ? 0 : i + 1;
            image += i == 0;
        }
    }
}

/* A gemm_source: patches. */
static void cut(const void *how, int64_t row, int64_t rows, int64_t col, int64_t cols, void *to)
{
    const job *o = how;
    const int64_t run = o->q->run, size = o->q->size;
    for (int64_t k = col, n; k < col + cols; k += n) {
        n = least(run - k % run, col + cols - k);
        cut_run(o, row, rows, k, n, (char *)to + (k - col) * size, cols * size);
    }
}

/* A gemm_source: filters as (taps, O, C). */
static void cut_filters(const void *how, int64_t row, int64_t rows, int64_t col, int64_t cols,
                        void *to)
{
    const job *o = how;
    const conv2d_geometry *g = &o->s->g;
    const axis *h = &o->q->h, *w = &o->q->w;
    const int64_t size = (int64_t)tutti_dtype_size(o->s->t.w);
    for (int64_t r = row; r < row + rows; r++) {
        const int64_t t = r / g->o, u = h->tap + t / w->taps * h->next;
        const int64_t v = w->tap + t % w->taps * w->next;
        const int64_t from = ((r % g->o * g->kh + u) * g->kw + v) * g->c + col;
        copy((char *)to + (r - row) * cols * size, o->filters + from * size, cols * size);
    }
}

/* An epilogue: rows go to their pixels of dx. */
static void scatter(const void *how, const gemm_part *part)
{
    const job *o = how;
    const conv2d_geometry *g = &o->s->g;
    const axis *h = &o->q->h, *w = &o->q->w;
    gemm_epilogue *const round = TUTTI_ISA_PICK(gemm_store_half);
    for (int64_t r = 0; r < part->rows; r++) {
        const int64_t row = part->row + r, j = row % w->n, i = row / w->n;
        const int64_t y = (i / h->n * g->h + o->q->row + i % h->n * g->sh) * g->w;
        const int64_t at = (y + o->q->col + j * g->sw) * g->c;
        float *from = part->values + r * part->values_row;
        const gemm_part one = {0, 1, part->col, part->cols, from, 0};
        const gemm_half_store store = {(uint16_t *)(void *)o->out + at, 0, o->s->t.factor, 0};
        if (o->s->t.x != TUTTI_F32)
            round(&store, &one);
        else
            memcpy((float *)(void *)o->out + at + part->col, from,
                   (size_t)part->cols * sizeof *from);
    }
}

static void clear(const conv2d_implicit *s, char *dx)
{
    const conv2d_geometry *g = &s->g;
    const size_t row = (size_t)(g->w * g->c) * tutti_dtype_size(s->t.x);
#pragma omp parallel for schedule(static) num_threads(s->threads) if (s->threads > 1)
    for (int64_t r = 0; r < g->b * g->h; r++)
        memset(dx + (size_t)r * row, 0, row);
}

void conv2d_implicit_run(const conv2d_implicit *s, const void *in0, const void *in1,
                         const float *bias, void *out, void *scratch)
{
    if (s->gaps)
        clear(s, out);
    for (int32_t k = 0; k < s->products; k++) {
        const product *q = &s->product[k];
        const job how = {s, q, in0, in1, out};
        const gemm_half_store store = {out, q->p.n, s->t.factor, 0};
        gemm_data d = {.a_source = cut, .b = in1, .bias = bias, .y = out, .source = &how};
        if (s->kind == DNN_CONV_GRAD_INPUT)
            d.b_source = cut_filters;
        else if (s->kind == DNN_CONV_GRAD_WEIGHT)
            d = (gemm_data){.a = in1, .b_source = cut, .y = out, .source = &how};
        if (s->kind == DNN_CONV_GRAD_INPUT && conv2d_skips(&s->g)) {
            d.epilogue = scatter;
            d.how = &how;
        } else if (q->p.unstored) {
            d.epilogue = TUTTI_ISA_PICK(gemm_store_half);
            d.how = &store;
        }
        gemm_run(&q->p, &d, scratch);
    }
}
