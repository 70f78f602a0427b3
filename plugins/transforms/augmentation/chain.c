/* chain.c - which change comes next, and how strong it is. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "chain.h"

#include "../common/colour.h"

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

/* A level drawn from 0.1 to `severity`, as a share of `most` at level 10. */
static double chain_strength(tutti_stream *r, double severity, double most)
{
    return (0.1 + (severity - 0.1) * tutti_stream_uniform(r)) * most / 10.0;
}

static double either_sign(tutti_stream *r, double v)
{
    return tutti_stream_uniform(r) > 0.5 ? -v : v;
}

/* The factor of a colour change: 1 is none.  As likely above 1, up to `severity`, as below. */
static double chain_factor(tutti_stream *r, int set, double severity)
{
    if (set == SET_ORIGINAL)
        return chain_strength(r, severity, 1.8) + 0.1;
    const double to = tutti_stream_uniform(r) > 0.5 ? severity : 1.0 - 0.09 * severity;
    return 1.0 + (to - 1.0) * tutti_stream_uniform(r);
}

static void change_colour(const picture *x, tutti_stream *r, int which, int set,
                          double severity, uint8_t *scratch)
{
    const double f = chain_factor(r, set, severity);
    switch (which) {
    case COLOR:
        colour_saturation(x->pixels, x->h * x->w, x->c, (float)f);
        break;
    case CONTRAST:
        colour_contrast(x->pixels, x->h * x->w, x->c, (float)f);
        break;
    case BRIGHTNESS: /* more light soon leaves nothing but white */
        colour_brightness(x->pixels, x->h * x->w, x->c,
                          (float)(set != SET_ORIGINAL && f > 1.0 ? 0.75 * f : f));
        break;
    default:
        image_sharpness(x, f, scratch);
    }
}

/* Moves a picture by `shift` pixels and `shear` pixels a pixel, along x or y. */
static void chain_move(const picture *x, int along_y, double shear, double shift,
                       uint8_t *scratch)
{
    const double m[6] = {
        1.0, along_y ? 0.0 : shear, along_y ? 0.0 : shift, along_y ? shear : 0.0,
        1.0, along_y ? shift : 0.0};
    image_affine(x, m, scratch);
}

static void chain_change(const picture *x, tutti_stream *r, int which, int set, double severity,
                         uint8_t *scratch)
{
    double v;
    switch (which) {
    case AUTOCONTRAST:
        image_autocontrast(x);
        break;
    case EQUALIZE:
        image_equalize(x);
        break;
    case POSTERIZE:
        image_posterize(x, 4 - (int)chain_strength(r, severity, 4.0));
        break;
    case ROTATE:
        v = (double)(int)chain_strength(r, severity, 30.0);
        image_rotate(x, either_sign(r, v), scratch);
        break;
    case SOLARIZE:
        image_solarize(x, 256 - (int)chain_strength(r, severity, 256.0));
        break;
    case SHEAR_X:
    case SHEAR_Y:
        v = chain_strength(r, severity, 0.3);
        chain_move(x, which == SHEAR_Y, either_sign(r, v), 0.0, scratch);
        break;
    case TRANSLATE_X:
    case TRANSLATE_Y:
        v = (double)(which == TRANSLATE_Y ? x->h : x->w) / 3.0;
        v = (double)(int)chain_strength(r, severity, v);
        chain_move(x, which == TRANSLATE_Y, 0.0, either_sign(r, v), scratch);
        break;
    default:
        change_colour(x, r, which, set, severity, scratch);
    }
}

void chain_apply(const picture *x, tutti_stream *r, int set, double severity, int64_t depth,
                 uint8_t *scratch)
{
    for (int64_t k = 0; k < depth; k++) {
        const uint32_t n = set == SET_SAFE ? SAFE_CHANGES : CHANGES;
        chain_change(x, r, (int)tutti_stream_below(r, n), set, severity, scratch);
    }
}
