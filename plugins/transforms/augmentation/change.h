/* change.h - which change comes next, and how strong it is, once, for every device. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AUGMENTATION_CHANGE_H
#define AUGMENTATION_CHANGE_H

#include "../common/image_pixel.h"

enum {
    AUTOCONTRAST,
    EQUALIZE,
    POSTERIZE,
    ROTATE,
    SOLARIZE,
    SHEAR_X,
    SHEAR_Y,
    TRANSLATE_X,
    TRANSLATE_Y,
    SAFE_CHANGES,
    COLOR = SAFE_CHANGES,
    CONTRAST,
    BRIGHTNESS,
    SHARPNESS,
    CHANGES
};

/* As the manifest's values of augmentation_set. */
enum { SET_ALL, SET_SAFE, SET_ORIGINAL };

enum { MAX_WIDTH = 64, MAX_SHARES = MAX_WIDTH + 1 };

/* Settings of a transform. */
typedef struct augmentation_draws {
    double severity;
    double alpha;
    int64_t depth;
    int64_t width; /* chains; augmix alone, as alpha */
    int32_t set;
    int32_t reserved;
} augmentation_draws;

typedef struct change {
    int32_t which;
    int32_t reserved;
    double by;   /* bits, a threshold, or a factor */
    double m[6]; /* where pixels come from; what moves pixels alone */
} change;

/* A level drawn from 0.1 to `severity`, as a share of `most` at level 10. */
TUTTI_SHARED double change_strength(tutti_stream *r, double severity, double most)
{
    return (0.1 + (severity - 0.1) * tutti_stream_uniform(r)) * most / 10.0;
}

TUTTI_SHARED double change_either(tutti_stream *r, double v)
{
    return tutti_stream_uniform(r) > 0.5 ? -v : v;
}

/* The factor of a colour change: 1 is none.  As likely above 1, up to `severity`, as below; more light soon leaves
 * nothing but white. */
TUTTI_SHARED double change_factor(tutti_stream *r, int32_t set, double severity, int32_t which)
{
    if (set == SET_ORIGINAL)
        return change_strength(r, severity, 1.8) + 0.1;
    const double to = tutti_stream_uniform(r) > 0.5 ? severity : 1.0 - 0.09 * severity;
    const double f = 1.0 + (to - 1.0) * tutti_stream_uniform(r);
    return which == BRIGHTNESS && f > 1.0 ? 0.75 * f : f;
}

TUTTI_SHARED int change_moves(int32_t which)
{
    return which == ROTATE || (which >= SHEAR_X && which <= TRANSLATE_Y);
}

/* Of what moves the pixels of a picture (h, w); m is the identity. */
TUTTI_SHARED void change_move(change *c, tutti_stream *r, double severity, int64_t h, int64_t w)
{
    double v;
    if (c->which == ROTATE) {
        v = (double)(int)change_strength(r, severity, 30.0);
        pixel_turn(change_either(r, v), h, w, c->m);
    } else if (c->which == SHEAR_X || c->which == SHEAR_Y) {
        v = change_strength(r, severity, 0.3);
        c->m[c->which == SHEAR_X ? 1 : 3] = change_either(r, v);
    } else {
        v = (double)(c->which == TRANSLATE_Y ? h : w) / 3.0;
        v = (double)(int)change_strength(r, severity, v);
        c->m[c->which == TRANSLATE_X ? 2 : 5] = change_either(r, v);
    }
}

/* The next change of a picture (h, w). */
TUTTI_SHARED change change_draw(tutti_stream *r, int32_t set, double severity, int64_t h,
                                int64_t w)
{
    change c = {0, 0, 0.0, {1.0, 0.0, 0.0, 0.0, 1.0, 0.0}};
    c.which = (int32_t)tutti_stream_below(r, set == SET_SAFE ? SAFE_CHANGES : CHANGES);
    if (change_moves(c.which))
        change_move(&c, r, severity, h, w);
    else if (c.which == POSTERIZE)
        c.by = 4 - (int)change_strength(r, severity, 4.0);
    else if (c.which == SOLARIZE)
        c.by = 256 - (int)change_strength(r, severity, 256.0);
    else if (c.which >= COLOR)
        c.by = change_factor(r, set, severity, c.which);
    return c;
}

/* Shares of augmix's chains, Dirichlet(alpha, ..., alpha), gamma draws over their sum; behind them that of
 * their mixture, of Beta(alpha, alpha). */
TUTTI_SHARED void change_shares(const augmentation_draws *d, tutti_stream *r, double *share)
{
    double largest = 0.0, sum = 0.0;
    for (int64_t k = 0; k < d->width; k++) {
        share[k] = steady_log_gamma(r, d->alpha);
        largest = k == 0 || share[k] > largest ? share[k] : largest;
    }
    for (int64_t k = 0; k < d->width; k++)
        sum += share[k] = steady_exp(share[k] - largest);
    for (int64_t k = 0; k < d->width; k++)
        share[k] /= sum;
    share[d->width] = steady_beta(r, d->alpha);
}

TUTTI_SHARED int64_t change_depth(const augmentation_draws *d, tutti_stream *r)
{
    return d->depth > 0 ? d->depth : 1 + (int64_t)tutti_stream_below(r, 3);
}

/* A pixel and the sum of its chains, rounded down, in upstream's 32 bits. */
TUTTI_SHARED uint8_t change_mixed(uint8_t x, float chains, float m)
{
    const float kept = (1.0f - m) * x, mixed = m * chains;
    const float v = kept + mixed;
    return (uint8_t)(v >= 255.0f ? 255.0f : v);
}

#endif
