/* plugin.c - aug_mix: a picture mixed with chains of changes of it. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../common/picture_change.h"
#include "../common/steady.h"
#include "mixture.h"

enum { MOST_CHAINS = 64 };

typedef struct aug_mix {
    double p;
    double alpha;
    int64_t width, depth;
    uint32_t severity;
    int32_t all;
    warp_options warp;
} aug_mix;

static tutti_status aug_mix_read_settings(const tutti_params *params, aug_mix *t,
                                          tutti_error *err)
{
    (void)err;
    t->warp.filter = (int32_t)tutti_param_i64(params, "interpolation");
    memset(t->warp.fill, (int)tutti_param_i64(params, "fill"), sizeof t->warp.fill);
    t->alpha = tutti_param_f64(params, "alpha");
    t->width = tutti_param_i64(params, "mixture_width");
    t->depth = tutti_param_i64(params, "chain_depth");
    t->severity = (uint32_t)tutti_param_i64(params, "severity");
    t->all = (int32_t)tutti_param_i64(params, "all_ops");
    return TUTTI_OK;
}

/* Of Dirichlet(alpha, ..., alpha): gamma draws over their sum. */
static void draw_shares(tutti_stream *r, double alpha, int64_t n, double *share)
{
    double largest = 0.0, sum = 0.0;
    for (int64_t k = 0; k < n; k++) {
        share[k] = steady_log_gamma(r, alpha);
        largest = k == 0 || share[k] > largest ? share[k] : largest;
    }
    for (int64_t k = 0; k < n; k++)
        sum += share[k] = steady_exp(share[k] - largest);
    for (int64_t k = 0; k < n; k++)
        share[k] /= sum;
}

/* Without colours there are none of brightness to sharpness. */
static mixture_change draw_change(const aug_mix *t, tutti_stream *r)
{
    const uint32_t colours = POLICY_SHARPNESS - POLICY_BRIGHTNESS + 1;
    const uint32_t all = POLICY_EQUALIZE - POLICY_SHEAR_X + 1;
    uint32_t op = POLICY_SHEAR_X + tutti_stream_below(r, t->all ? all : all - colours);
    if (!t->all && op >= POLICY_BRIGHTNESS)
        op += colours;
    const int32_t bin = (int32_t)tutti_stream_below(r, t->severity);
    const int32_t minus = policy_is_signed((policy_op)op) && tutti_stream_uniform(r) <= 0.5;
    return (mixture_change){(policy_op)op, bin, minus};
}

static void aug_mix_change(const aug_mix *t, const picture *x, tutti_stream *r,
                           uint8_t *scratch)
{
    const int64_t n = x->h * x->w * x->c;
    uint8_t *made = scratch + (size_t)n * sizeof(float);
    const mixture m = {(float *)(void *)scratch, made, made + n};
    double original[2], share[MOST_CHAINS];
    mixture_change chain[MIXTURE_DEPTH];
    draw_shares(r, t->alpha, 2, original);
    draw_shares(r, t->alpha, t->width, share);
    mixture_begin(&m, x, (float)original[0]);
    for (int64_t k = 0; k < t->width; k++) {
        const int64_t depth = t->depth > 0 ? t->depth : 1 + tutti_stream_below(r, 3);
        for (int64_t j = 0; j < depth; j++)
            chain[j] = draw_change(t, r);
        mixture_add(&m, x, (float)share[k] * (float)original[1], chain, depth, &t->warp);
    }
    mixture_end(&m, x);
}

/* A sum of floats, a chain's picture, and the memory of its changes. */
PICTURE_CHANGE(aug_mix, aug_mix, 1, 6, aug_mix_read_settings, aug_mix_change);
