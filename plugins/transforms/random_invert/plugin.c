/* plugin.c - random_invert: light becomes dark. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../common/picture_change.h"

typedef struct random_invert {
    double p;
} random_invert;

static tutti_status random_invert_read_settings(const tutti_params *params, random_invert *t,
                                                tutti_error *err)
{
    (void)params, (void)t, (void)err;
    return TUTTI_OK;
}

static void random_invert_change(const random_invert *t, const picture *x, tutti_stream *r,
                                 uint8_t *scratch)
{
    (void)t, (void)r, (void)scratch;
    image_invert(x);
}

PICTURE_CHANGE(random_invert, random_invert, 0, 0, random_invert_read_settings,
               random_invert_change);
