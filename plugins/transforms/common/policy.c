/* policy.c - the changes that policies of automatic augmentation draw from. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "policy.h"
#include "colour.h"

#include <math.h>

const policy_space policy_narrow = {.shear = 0.3,
                                    .translate = 150.0 / 331.0,
                                    .degrees = 30.0,
                                    .factor = 0.9,
                                    .pixels = 0,
                                    .keeps = 8,
                                    .bits = 4};
const policy_space policy_wide = {.shear = 0.99,
                                  .translate = 32.0,
                                  .degrees = 135.0,
                                  .factor = 0.99,
                                  .pixels = 1,
                                  .keeps = 8,
                                  .bits = 6};
const policy_space policy_mixed = {.shear = 0.3,
                                   .translate = 1.0 / 3.0,
                                   .degrees = 30.0,
                                   .factor = 0.9,
                                   .pixels = 0,
                                   .keeps = 4,
                                   .bits = 4};

/* torch.linspace(start, end, bins)[bin]: from the nearer end, rounded once. */
static double policy_between(double start, double end, int bin, int bins)
{
    const float step = (float)(end - start) / (float)(bins - 1);
    return bin < bins / 2 ? (double)fmaf(step, (float)bin, (float)start)
                          : (double)fmaf(-step, (float)(bins - 1 - bin), (float)end);
}

static double policy_step(double end, int bin, int bins)
{
    return policy_between(0.0, end, bin, bins);
}

double policy_magnitude(const policy_space *s, policy_op op, int bin, int bins,
                        const picture *x)
{
    switch (op) {
    case POLICY_SHEAR_X:
    case POLICY_SHEAR_Y:
        return policy_step(s->shear, bin, bins);
    case POLICY_TRANSLATE_X:
        return policy_step(s->pixels ? s->translate : s->translate * (double)x->w, bin, bins);
    case POLICY_TRANSLATE_Y:
        return policy_step(s->pixels ? s->translate : s->translate * (double)x->h, bin, bins);
    case POLICY_ROTATE:
        return policy_step(s->degrees, bin, bins);
    case POLICY_BRIGHTNESS:
    case POLICY_COLOR:
    case POLICY_CONTRAST:
    case POLICY_SHARPNESS:
        return policy_step(s->factor, bin, bins);
    case POLICY_POSTERIZE:
        return (double)rintf((float)s->keeps -
                             (float)bin / (float)((double)(bins - 1) / (double)s->bits));
    case POLICY_SOLARIZE:
        return policy_between(1.0, 0.0, bin, bins);
    default:
        return 0.0;
    }
}

int policy_is_signed(policy_op op)
{
    return op >= POLICY_SHEAR_X && op <= POLICY_SHARPNESS;
}

/* Shears about the first pixel's corner, moves by whole pixels. */
static void policy_move(const picture *x, policy_op op, double magnitude, const warp_options *o,
                        uint8_t *scratch)
{
    const double degrees = atan(magnitude) * 180.0 / acos(-1.0);
    warp_change c = {.scale = 1.0};
    double m[6];
    if (op == POLICY_SHEAR_X || op == POLICY_SHEAR_Y) {
        c.shear[op == POLICY_SHEAR_Y] = degrees;
    } else {
        c.translate[op == POLICY_TRANSLATE_Y] = trunc(magnitude);
        c.center[0] = 0.5 * (double)x->w;
        c.center[1] = 0.5 * (double)x->h;
    }
    warp_inverse(&c, m);
    warp_affine(x, m, o, scratch);
}

void policy_change(const picture *x, policy_op op, double magnitude, const warp_options *o,
                   uint8_t *scratch)
{
    const int64_t n = x->h * x->w;
    const float factor = (float)(1.0 + magnitude);
    switch (op) {
    case POLICY_SHEAR_X:
    case POLICY_SHEAR_Y:
    case POLICY_TRANSLATE_X:
    case POLICY_TRANSLATE_Y:
        policy_move(x, op, magnitude, o, scratch);
        break;
    case POLICY_ROTATE:
        warp_rotate(x, magnitude, o, scratch);
        break;
    case POLICY_BRIGHTNESS:
        colour_brightness(x->pixels, n, x->c, factor);
        break;
    case POLICY_COLOR:
        colour_saturation(x->pixels, n, x->c, factor);
        break;
    case POLICY_CONTRAST:
        colour_contrast(x->pixels, n, x->c, factor);
        break;
    case POLICY_SHARPNESS:
        image_sharpness(x, 1.0 + magnitude, scratch);
        break;
    case POLICY_POSTERIZE:
        image_posterize(x, (int)magnitude);
        break;
    case POLICY_SOLARIZE:
        image_solarize(x, (int)ceil(255.0 * magnitude));
        break;
    case POLICY_AUTOCONTRAST:
        image_autocontrast(x);
        break;
    case POLICY_EQUALIZE:
        image_equalize(x);
        break;
    case POLICY_INVERT:
        image_invert(x);
        break;
    default:
        break;
    }
}
