/* conv_sums.h - convolutions and their gradients in f64, of the factors that tests of bf16 round. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_ISA_CONV_SUMS_H
#define TESTS_ISA_CONV_SUMS_H

#include "conv2d/conv2d_algorithms.h"
#include "numbers.h"

enum { CONV_KINDS = 3 };
static const int32_t conv_kinds[CONV_KINDS] = {DNN_CONV, DNN_CONV_GRAD_INPUT,
                                               DNN_CONV_GRAD_WEIGHT};

/* Strides and dilations of 0 are 1. */
static inline int64_t conv_or_one(int64_t n)
{
    return n ? n : 1;
}

static inline conv2d_geometry conv_geometry(const conv2d_geometry *shape)
{
    conv2d_geometry g = *shape;
    g.g = 1;
    g.sh = conv_or_one(g.sh), g.sw = conv_or_one(g.sw), g.dh = conv_or_one(g.dh),
    g.dw = conv_or_one(g.dw);
    g.oh = (g.h + 2 * g.ph - (g.kh - 1) * g.dh - 1) / g.sh + 1;
    g.ow = (g.w + 2 * g.pw - (g.kw - 1) * g.dw - 1) / g.sw + 1;
    return g;
}

/* x, w, dy or y; in the order of numbers. */
typedef struct conv_size {
    int64_t n[3];
} conv_size;

static inline conv_size conv_sizes(const conv2d_geometry *g)
{
    return (conv_size){
        {g->b * g->h * g->w * g->c, g->o * g->kh * g->kw * g->c, g->b * g->oh * g->ow * g->o}};
}

static inline void *conv_scratch(uint64_t bytes)
{
    void *scratch = aligned_alloc(64, (bytes + 63) / 64 * 64);
    ck_assert_ptr_nonnull(scratch);
    memset(scratch, 0xFF, bytes); /* NaNs */
    return scratch;
}

/* Which of them kind k makes. */
static inline int conv_made(int k)
{
    return k == 0 ? 2 : k - 1;
}

/* Additions in a sum, at most. */
static inline int64_t conv_terms(int k, const conv2d_geometry *g)
{
    return k == 2 ? g->b * g->oh * g->ow : g->kh * g->kw * (k ? g->o : g->c);
}

static inline double *conv_upcast(const float *x, int64_t n)
{
    double *wide = malloc((size_t)n * sizeof *wide);
    ck_assert_ptr_nonnull(wide);
    for (int64_t i = 0; i < n; i++)
        wide[i] = (double)x[i];
    return wide;
}

/* By the definition, of the rounded factors or of their magnitudes, which bound the error. */
static inline double *conv_wanted(int k, const conv2d_geometry *g, const numbers *in,
                                  const float *bias, int magnitudes)
{
    const conv_size s = conv_sizes(g);
    double *wide[4] = {0}, *out = malloc((size_t)s.n[conv_made(k)] * 8);
    for (int i = 0; i < 3; i++)
        wide[i] = conv_upcast(in[i].rounded, s.n[i]);
    for (int i = 0; i < 3 && magnitudes; i++)
        for (int64_t j = 0; j < s.n[i]; j++)
            wide[i][j] = fabs(wide[i][j]);
    if (bias)
        wide[3] = conv_upcast(bias, g->o);
    if (k == 0)
        conv2d_plain_f64(g, wide[0], wide[1], wide[3], out, 0, g->b * g->oh * g->ow);
    else if (k == 1)
        conv2d_plain_input_f64(g, wide[2], wide[1], out, 0, g->b * g->h * g->w);
    else
        conv2d_plain_weight_f64(g, wide[0], wide[2], out, 0, g->o);
    for (int i = 0; i < 4; i++)
        free(wide[i]);
    return out;
}

#endif
