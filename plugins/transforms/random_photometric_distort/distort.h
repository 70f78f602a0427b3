/* distort.h - what a sample draws, and what that makes of a picture. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RANDOM_PHOTOMETRIC_DISTORT_DISTORT_H
#define RANDOM_PHOTOMETRIC_DISTORT_DISTORT_H

#include "../common/colour.h"
#include "../common/image_ops.h"

enum { BRIGHTNESS, CONTRAST, SATURATION, HUE, CHANGES };

typedef struct distortion {
    double by[CHANGES];     /* a factor, or a turn of the hue */
    int32_t makes[CHANGES]; /* whether it does */
    int32_t contrast_first; /* before saturation and hue */
    uint8_t channel[4];     /* from which each of the three comes */
} distortion;

static inline void distortion_permute(const picture *x, const uint8_t *channel)
{
    for (int64_t i = 0; x->c == 3 && i < x->h * x->w; i++) {
        uint8_t *at = x->pixels + 3 * i;
        const uint8_t old[3] = {at[0], at[1], at[2]};
        for (int k = 0; k < 3; k++)
            at[k] = old[channel[k]];
    }
}

static inline void distortion_make(const picture *x, const distortion *d)
{
    const int64_t n = x->h * x->w;
    if (d->makes[BRIGHTNESS])
        colour_brightness(x->pixels, n, x->c, (float)d->by[BRIGHTNESS]);
    if (d->makes[CONTRAST] && d->contrast_first)
        colour_contrast(x->pixels, n, x->c, (float)d->by[CONTRAST]);
    if (d->makes[SATURATION])
        colour_saturation(x->pixels, n, x->c, (float)d->by[SATURATION]);
    if (d->makes[HUE])
        colour_hue(x->pixels, n, x->c, (uint8_t)(int)(d->by[HUE] * 255.0));
    if (d->makes[CONTRAST] && !d->contrast_first)
        colour_contrast(x->pixels, n, x->c, (float)d->by[CONTRAST]);
    distortion_permute(x, d->channel);
}

#endif
