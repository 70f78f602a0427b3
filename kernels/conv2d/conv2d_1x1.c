/* conv2d_1x1.c - the 1 x 1 convolution and its gradients as GEMM; windows that lie side by side as 1 x 1 ones of patches. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/gemm.h"
#include "conv2d/conv2d_algorithms.h"

#include <stdlib.h>
#include <string.h>

/* P pixels that are read, x (P, C) those of the input, y (P, O), w (O, C):
 *   y = x w^T + bias, dx = dy w, dw = dy^T x. */
struct conv2d_1x1 {
    conv2d_geometry g;
    gemm p;
    conv2d_dtypes dtypes;
    int32_t kind;
    int32_t reserved;
    uint64_t dense; /* bytes of x without the pixels that nobody reads; 0: all are read */
};

int conv2d_1x1_fit(const conv2d_geometry *g)
{
    return g->kh == 1 && g->kw == 1 && g->ph == 0 && g->pw == 0 && g->g == 1;
}

int conv2d_skips(const conv2d_geometry *g)
{
    return g->sh != 1 || g->sw != 1;
}

uint64_t conv2d_align(int32_t dtype, int64_t n)
{
    return ((uint64_t)n * tutti_dtype_size(dtype) + 63) / 64 * 64;
}

/* Bytes of a pixel of x. */
static int64_t pixel_bytes(const conv2d_geometry *g, int32_t dtype)
{
    return g->c * (int64_t)tutti_dtype_size(dtype);
}

void conv2d_pick(const conv2d_geometry *g, int32_t dtype, int64_t row, const void *x, void *y)
{
    const int64_t pixel = pixel_bytes(g, dtype);
    const int64_t at = (row / g->oh * g->h + row % g->oh * g->sh) * g->w;
    const char *from = (const char *)x + at * pixel;
    char *to = (char *)y + row * g->ow * pixel;
    for (int64_t j = 0; j < g->ow; j++)
        memcpy(to + j * pixel, from + j * g->sw * pixel, (size_t)pixel);
}

/* A row of x from that of y it has, if any. */
static void spread(const conv2d_geometry *g, int64_t pixel, int64_t row, const char *y, char *x)
{
    const int64_t i = row % g->h;
    const char *from = y + (row / g->h * g->oh + i / g->sh) * g->ow * pixel;
    char *to = x + row * g->w * pixel;
    if (i % g->sh) {
        memset(to, 0, (size_t)(g->w * pixel));
        return;
    }
    for (int64_t j = 0; j < g->w; j++)
        if (j % g->sw)
            memset(to + j * pixel, 0, (size_t)pixel);
        else
            memcpy(to + j * pixel, from + j / g->sw * pixel, (size_t)pixel);
}

void conv2d_spread(const conv2d_geometry *g, int32_t dtype, int32_t threads, const void *y,
                   void *x)
{
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (int64_t r = 0; r < g->b * g->h; r++)
        spread(g, pixel_bytes(g, dtype), r, y, x);
}

static int32_t result_dtype(int32_t kind, const conv2d_dtypes *t)
{
    return kind == DNN_CONV ? t->y : kind == DNN_CONV_GRAD_INPUT ? t->x : t->w;
}

static gemm gemm_of(int32_t kind, const conv2d_geometry *g, const conv2d_dtypes *t,
                    int32_t threads)
{
    const int64_t pixels = g->b * g->oh * g->ow;
    gemm p = {.m = pixels, .n = g->c, .k = g->o, .threads = threads, .factor = t->factor};
    p.a_dtype = kind == DNN_CONV ? t->x : t->y;
    p.b_dtype = kind == DNN_CONV_GRAD_WEIGHT ? t->x : t->w;
    p.unstored = result_dtype(kind, t) != TUTTI_F32;
    p.a_row = kind == DNN_CONV ? g->c : g->o; /* x, dy, dy */
    p.a_col = 1;
    p.b_row = g->c; /* w, x */
    p.b_col = 1;
    if (kind == DNN_CONV) {
        p.n = g->o;
        p.k = g->c;
        p.b_row = 1; /* w transposed */
        p.b_col = g->c;
    } else if (kind == DNN_CONV_GRAD_WEIGHT) {
        p.m = g->o;
        p.k = pixels;
        p.a_col = g->o; /* dy transposed */
        p.a_row = 1;
    }
    p.y_row = p.n;
    return p;
}

tutti_status conv2d_1x1_create(int32_t kind, const conv2d_geometry *g, const conv2d_dtypes *t,
                               int32_t threads, conv2d_1x1 **ret, uint64_t *ret_scratch,
                               tutti_error *err)
{
    conv2d_1x1 *s = calloc(1, sizeof *s);
    uint64_t scratch = 0;
    if (!s)
        return tutti_fail(err, TUTTI_E_NOMEM, "conv2d: no memory for its state");
    s->g = *g;
    s->kind = kind;
    s->dtypes = *t;
    s->p = gemm_of(kind, g, t, threads);
    s->dense = conv2d_skips(g) ? conv2d_align(t->x, g->b * g->oh * g->ow * g->c) : 0;
    if (gemm_plan(&s->p, &scratch)) {
        free(s);
        return tutti_fail(err, TUTTI_E_UNSUPPORTED, "conv2d: no products on this CPU");
    }
    *ret = s;
    *ret_scratch = s->dense + scratch;
    return TUTTI_OK;
}

void conv2d_1x1_destroy(conv2d_1x1 *s)
{
    free(s);
}

/* x as a matrix: as it is, or what the convolution reads of it. */
static const void *read_pixels(const conv2d_1x1 *s, const void *x, void *dense)
{
    const int64_t rows = s->g.b * s->g.oh;
    if (!s->dense)
        return x;
#pragma omp parallel for schedule(static) num_threads(s->p.threads) if (s->p.threads > 1)
    for (int64_t r = 0; r < rows; r++)
        conv2d_pick(&s->g, s->dtypes.x, r, x, dense);
    return dense;
}

tutti_status conv2d_1x1_run(const conv2d_1x1 *s, const void *in0, const void *in1,
                            const float *bias, void *out, void *scratch)
{
    void *memory = (unsigned char *)scratch + s->dense;
    void *y = s->kind == DNN_CONV_GRAD_INPUT && s->dense ? scratch : out;
    const gemm_half_store store = {y, s->p.n, result_dtype(s->kind, &s->dtypes), 0};
    gemm_data d = {.a = in0, .b = in1, .bias = bias, .y = y};
    if (s->p.unstored)
        d = (gemm_data){.a = in0,
                        .b = in1,
                        .bias = bias,
                        .epilogue = TUTTI_ISA_PICK(gemm_store_half),
                        .how = &store};
    if (s->kind == DNN_CONV) {
        d.a = read_pixels(s, in0, scratch);
    } else if (s->kind == DNN_CONV_GRAD_WEIGHT) {
        d.a = in1;
        d.b = read_pixels(s, in0, scratch);
    }
    gemm_run(&s->p, &d, memory);
    if (y != out)
        conv2d_spread(&s->g, s->dtypes.x, s->p.threads, scratch, out);
    return TUTTI_OK;
}

/* ---- windows that do not overlap, as in a vision transformer ---- */

/* Patches p (B, OH, OW, KH KW C) are x in another order, and the convolution is a 1 x 1 convolution of them. */
struct conv2d_patches {
    conv2d_geometry g;
    conv2d_1x1 *product;
    uint64_t bytes; /* of all patches */
    int32_t kind, dtype, threads, reserved;
};

int conv2d_patches_fit(const conv2d_geometry *g)
{
    return g->g == 1 && g->kh * g->kw > 1 && g->sh == g->kh && g->sw == g->kw && g->ph == 0 &&
           g->pw == 0 && g->dh == 1 && g->dw == 1;
}

tutti_status conv2d_patches_create(int32_t kind, const conv2d_geometry *g,
                                   const conv2d_dtypes *t, int32_t threads,
                                   conv2d_patches **ret, uint64_t *ret_scratch,
                                   tutti_error *err)
{
    const conv2d_geometry single = {.b = g->b,
                                    .h = g->oh,
                                    .w = g->ow,
                                    .c = g->kh * g->kw * g->c,
                                    .oh = g->oh,
                                    .ow = g->ow,
                                    .o = g->o,
                                    .kh = 1,
                                    .kw = 1,
                                    .g = 1,
                                    .sh = 1,
                                    .sw = 1,
                                    .dh = 1,
                                    .dw = 1};
    conv2d_patches *s = calloc(1, sizeof *s);
    uint64_t scratch = 0;
    if (!s)
        return tutti_fail(err, TUTTI_E_NOMEM, "conv2d: no memory for its state");
    const tutti_status status =
        conv2d_1x1_create(kind, &single, t, threads, &s->product, &scratch, err);
    if (status) {
        free(s);
        return status;
    }
    s->g = *g;
    s->kind = kind;
    s->dtype = t->x;
    s->threads = threads;
    s->bytes = conv2d_align(t->x, single.b * single.h * single.w * single.c);
    *ret = s;
    *ret_scratch = s->bytes + scratch;
    return TUTTI_OK;
}

void conv2d_patches_destroy(conv2d_patches *s)
{
    if (s)
        conv2d_1x1_destroy(s->product);
    free(s);
}

/* Row `row` of x, counted over all images, to the windows that it goes through, or from them: what lies beyond the last
 * window is not read, and is set to zero. */
static void move_row(const conv2d_patches *s, int64_t row, char *x, char *patches, int back)
{
    const conv2d_geometry *g = &s->g;
    const int64_t pixel = g->c * (int64_t)tutti_dtype_size(s->dtype), line = g->kw * pixel;
    const int64_t i = row % g->h / g->kh, u = row % g->h % g->kh;
    const int64_t covered = i < g->oh ? g->ow : 0;
    char *at = patches + (((row / g->h * g->oh + i) * g->ow) * g->kh + u) * line;
    x += row * g->w * pixel;
    for (int64_t j = 0; j < covered; j++)
        memcpy(back ? x + j * line : at + j * g->kh * line,
               back ? at + j * g->kh * line : x + j * line, (size_t)line);
    if (back)
        memset(x + covered * line, 0, (size_t)(g->w * pixel - covered * line));
}

static void move(const conv2d_patches *s, void *x, void *patches, int back)
{
#pragma omp parallel for schedule(static) num_threads(s->threads) if (s->threads > 1)
    for (int64_t r = 0; r < s->g.b * s->g.h; r++)
        move_row(s, r, x, patches, back);
}

tutti_status conv2d_patches_run(const conv2d_patches *s, const void *in0, const void *in1,
                                const float *bias, void *out, void *scratch)
{
    void *memory = (unsigned char *)scratch + s->bytes;
    if (s->kind != DNN_CONV_GRAD_INPUT) {
        move(s, (void *)(uintptr_t)in0, scratch, 0);
        return conv2d_1x1_run(s->product, scratch, in1, bias, out, memory);
    }
    const tutti_status status = conv2d_1x1_run(s->product, in0, in1, NULL, scratch, memory);
    if (!status)
        move(s, out, scratch, 1);
    return status;
}
