/* plugin.c - random_grayscale: colours become their grey. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../common/colour_pixel.h"
#include "../common/picture_change.h"

typedef struct random_grayscale {
    double p;
} random_grayscale;

static tutti_status random_grayscale_read_settings(const tutti_params *params,
                                                   random_grayscale *t, tutti_error *err)
{
    (void)params, (void)t, (void)err;
    return TUTTI_OK;
}

static void random_grayscale_change(const random_grayscale *t, const picture *x,
                                    tutti_stream *r, uint8_t *scratch)
{
    (void)t, (void)r, (void)scratch;
    for (int64_t i = 0; x->c == 3 && i < x->h * x->w; i++)
        memset(x->pixels + 3 * i, colour_grey(x->pixels + 3 * i), 3);
}

PICTURE_CHANGE(random_grayscale, random_grayscale, 0, 0, random_grayscale_read_settings,
               random_grayscale_change);
