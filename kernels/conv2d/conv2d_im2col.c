/* conv2d_im2col.c - im2col: convolutions and their gradients as GEMMs of patches, with the same bits on every CPU. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/gemm.h"
#include "conv2d/conv2d_algorithms.h"

#include <stdlib.h>
#include <string.h>

/* K = KH KW C numbers are a patch, P pixels are written:
 *   y (P, O) = patches (P, K) w^T + bias, dpatches = dy w, dw = dy^T patches.
 * Some images at a time.  A GEMM's sums go along K, along O, or along the pixels of a block, and the blocks are
 * added in their order: shapes alone decide. */
enum { BLOCK_PIXELS = 2048 };

struct conv2d_im2col {
    conv2d_geometry g;
    gemm block, last; /* of `images` images, and of those that are left */
    int64_t images;
    uint64_t patches, sums; /* bytes of a block's patches, of its dw */
    int32_t kind, threads;
};

int conv2d_im2col_fits(const conv2d_geometry *g)
{
    return g->g == 1 && g->b * g->oh * g->ow * g->o * g->kh * g->kw * g->c > 0;
}

static int64_t patch_of(const conv2d_geometry *g)
{
    return g->kh * g->kw * g->c;
}

static gemm gemm_of(const conv2d_im2col *s, int64_t images)
{
    const conv2d_geometry *g = &s->g;
    const int64_t pixels = images * g->oh * g->ow, k = patch_of(g);
    gemm p = {.m = pixels, .n = g->o, .k = k, .a_row = k, .a_col = 1, .b_row = 1, .b_col = k};
    if (s->kind == DNN_CONV_GRAD_INPUT)
        p = (gemm){
            .m = pixels, .n = k, .k = g->o, .a_row = g->o, .a_col = 1, .b_row = k, .b_col = 1};
    else if (s->kind == DNN_CONV_GRAD_WEIGHT)
        p = (gemm){
            .m = g->o, .n = k, .k = pixels, .a_row = 1, .a_col = g->o, .b_row = k, .b_col = 1};
    p.y_row = p.n;
    p.threads = s->threads;
    p.division = GEMM_ROWS;
    return p;
}

tutti_status conv2d_im2col_create(int32_t kind, const conv2d_geometry *g, int32_t threads,
                                  conv2d_im2col **ret, uint64_t *ret_scratch, tutti_error *err)
{
    conv2d_im2col *s = calloc(1, sizeof *s);
    uint64_t scratch = 0, rest = 0;
    if (!s)
        return tutti_fail(err, TUTTI_E_NOMEM, "conv2d: no memory for its state");
    const int64_t image = g->oh * g->ow;
    s->g = *g;
    s->kind = kind;
    s->threads = threads;
    s->images = image < BLOCK_PIXELS ? BLOCK_PIXELS / image : 1;
    s->images = s->images < g->b ? s->images : g->b;
    s->block = gemm_of(s, s->images);
    s->last = gemm_of(s, g->b % s->images ? g->b % s->images : s->images);
    if (gemm_plan(&s->block, &scratch) || gemm_plan(&s->last, &rest)) {
        free(s);
        return tutti_fail(err, TUTTI_E_UNSUPPORTED,
                          "conv2d: a reproducible convolution wants a CPU with AVX2 and FMA");
    }
    s->patches = conv2d_align(TUTTI_F32, s->images * image * patch_of(g));
    s->sums = kind == DNN_CONV_GRAD_WEIGHT ? conv2d_align(TUTTI_F32, g->o * patch_of(g)) : 0;
    *ret = s;
    *ret_scratch = s->patches + s->sums + (scratch > rest ? scratch : rest);
    return TUTTI_OK;
}

void conv2d_im2col_destroy(conv2d_im2col *s)
{
    free(s);
}

/* The patches of row `row` of results, counted over all images; zeros outside. */
static void cut_row(const conv2d_geometry *g, const float *x, int64_t row, float *to)
{
    const float *image = x + row / g->oh * g->h * g->w * g->c;
    for (int64_t j = 0; j < g->ow; j++)
        for (int64_t u = 0; u < g->kh; u++) {
            const int64_t r = row % g->oh * g->sh + u * g->dh - g->ph;
            for (int64_t v = 0; v < g->kw; v++, to += g->c) {
                const int64_t s = j * g->sw + v * g->dw - g->pw;
                if (r < 0 || r >= g->h || s < 0 || s >= g->w)
                    memset(to, 0, (size_t)g->c * sizeof *to);
                else
                    memcpy(to, image + (r * g->w + s) * g->c, (size_t)g->c * sizeof *to);
            }
        }
}

static void cut(const conv2d_im2col *s, const float *x, int64_t images, float *patches)
{
    const int64_t row = s->g.ow * patch_of(&s->g);
#pragma omp parallel for schedule(static) num_threads(s->threads) if (s->threads > 1)
    for (int64_t r = 0; r < images * s->g.oh; r++)
        cut_row(&s->g, x, r, patches + r * row);
}

/* What the windows over pixel (r, c) of an image have for it, in the order of their places. */
static void gather_pixel(const conv2d_geometry *g, const float *patches, int64_t r, int64_t c,
                         float *dx)
{
    memset(dx, 0, (size_t)g->c * sizeof *dx);
    for (int64_t u = 0; u < g->kh; u++)
        for (int64_t v = 0; v < g->kw; v++) {
            const int64_t up = r + g->ph - u * g->dh, left = c + g->pw - v * g->dw;
            const int64_t i = up / g->sh, j = left / g->sw;
            if (up < 0 || left < 0 || up % g->sh || left % g->sw || i >= g->oh || j >= g->ow)
                continue;
            const float *from = patches + (((i * g->ow + j) * g->kh + u) * g->kw + v) * g->c;
            for (int64_t k = 0; k < g->c; k++)
                dx[k] += from[k];
        }
}

static void gather(const conv2d_im2col *s, const float *patches, int64_t images, float *dx)
{
    const conv2d_geometry *g = &s->g;
    const int64_t image = g->oh * g->ow * patch_of(g);
#pragma omp parallel for schedule(static) num_threads(s->threads) if (s->threads > 1)
    for (int64_t r = 0; r < images * g->h; r++)
        for (int64_t c = 0; c < g->w; c++)
            gather_pixel(g, patches + r / g->h * image, r % g->h, c,
                         dx + (r * g->w + c) * g->c);
}

static void add(const conv2d_im2col *s, const float *from, float *to)
{
    const int64_t n = s->g.o * patch_of(&s->g);
#pragma omp parallel for schedule(static) num_threads(s->threads) if (s->threads > 1)
    for (int64_t k = 0; k < n; k++)
        to[k] += from[k];
}

/* Images from x and y on, `first` of all. */
static void run_block(const conv2d_im2col *s, const gemm *p, int64_t images, const float *x,
                      const float *w, const float *bias, const float *y, float *out, int first,
                      unsigned char *scratch)
{
    float *patches = (float *)scratch, *sums = (float *)(scratch + s->patches);
    void *memory = scratch + s->patches + s->sums;
    gemm_data d = {.a = patches, .b = w, .bias = bias, .y = out};
    if (s->kind != DNN_CONV_GRAD_INPUT)
        cut(s, x, images, patches);
    if (s->kind == DNN_CONV_GRAD_INPUT)
        d = (gemm_data){.a = y, .b = w, .y = patches};
    else if (s->kind == DNN_CONV_GRAD_WEIGHT)
        d = (gemm_data){.a = y, .b = patches, .y = first ? out : sums};
    gemm_run(p, &d, memory);
    if (s->kind == DNN_CONV_GRAD_INPUT)
        gather(s, patches, images, out);
    else if (s->kind == DNN_CONV_GRAD_WEIGHT && !first)
        add(s, sums, out);
}

void conv2d_im2col_run(const conv2d_im2col *s, const float *in0, const float *in1,
                       const float *bias, float *out, void *scratch)
{
    const conv2d_geometry *g = &s->g;
    const int64_t image_x = g->h * g->w * g->c, image_y = g->oh * g->ow * g->o;
    for (int64_t b = 0; b < g->b; b += s->images) {
        const int whole = b + s->images <= g->b;
        const int64_t images = whole ? s->images : g->b - b;
        const gemm *p = whole ? &s->block : &s->last;
        if (s->kind == DNN_CONV)
            run_block(s, p, images, in0 + b * image_x, in1, bias, NULL, out + b * image_y,
                      b == 0, scratch);
        else if (s->kind == DNN_CONV_GRAD_INPUT)
            run_block(s, p, images, NULL, in1, NULL, in0 + b * image_y, out + b * image_x,
                      b == 0, scratch);
        else
            run_block(s, p, images, in0 + b * image_x, NULL, NULL, in1 + b * image_y, out,
                      b == 0, scratch);
    }
}
