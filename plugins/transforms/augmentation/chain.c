/* chain.c - one change after the other, and chains that are mixed. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "chain.h"

#include "../common/colour.h"

#include <string.h>

static void chain_change(const picture *x, const change *c, uint8_t *scratch)
{
    if (change_moves(c->which)) {
        image_affine(x, c->m, scratch);
        return;
    }
    switch (c->which) {
    case AUTOCONTRAST:
        image_autocontrast(x);
        break;
    case EQUALIZE:
        image_equalize(x);
        break;
    case POSTERIZE:
        image_posterize(x, (int)c->by);
        break;
    case SOLARIZE:
        image_solarize(x, (int)c->by);
        break;
    case COLOR:
        colour_saturation(x->pixels, x->h * x->w, x->c, (float)c->by);
        break;
    case CONTRAST:
        colour_contrast(x->pixels, x->h * x->w, x->c, (float)c->by);
        break;
    case BRIGHTNESS:
        colour_brightness(x->pixels, x->h * x->w, x->c, (float)c->by);
        break;
    default:
        image_sharpness(x, c->by, scratch);
    }
}

static void chain_apply(const augmentation_draws *d, int64_t depth, tutti_stream *r,
                        const picture *x, uint8_t *scratch)
{
    for (int64_t k = 0; k < depth; k++) {
        const change c = change_draw(r, d->set, d->severity, x->h, x->w);
        chain_change(x, &c, scratch);
    }
}

void chain_rand(const augmentation_draws *d, tutti_stream r, const uint8_t *x, const picture *y,
                chain_memory m)
{
    memcpy(y->pixels, x, (size_t)(y->h * y->w * y->c));
    chain_apply(d, d->depth, &r, y, m.scratch);
}

void chain_mix(const augmentation_draws *d, tutti_stream r, const uint8_t *x, const picture *y,
               chain_memory m)
{
    double share[MAX_SHARES];
    const int64_t n = y->h * y->w * y->c;
    change_shares(d, &r, share);
    memset(m.sum, 0, (size_t)n * sizeof *m.sum);
    for (int64_t k = 0; k < d->width; k++) {
        memcpy(y->pixels, x, (size_t)n);
        chain_apply(d, change_depth(d, &r), &r, y, m.scratch);
        for (int64_t i = 0; i < n; i++)
            m.sum[i] += (float)share[k] * y->pixels[i];
    }
    for (int64_t i = 0; i < n; i++)
        y->pixels[i] = change_mixed(x[i], m.sum[i], (float)share[d->width]);
}
