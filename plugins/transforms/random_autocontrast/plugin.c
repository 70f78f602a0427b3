/* plugin.c - random_autocontrast: channels stretched to the whole range. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../common/picture_change.h"

typedef struct random_autocontrast {
    double p;
} random_autocontrast;

static tutti_status random_autocontrast_read_settings(const tutti_params *params,
                                                      random_autocontrast *t, tutti_error *err)
{
    (void)params, (void)t, (void)err;
    return TUTTI_OK;
}

static void random_autocontrast_change(const random_autocontrast *t, const picture *x,
                                       tutti_stream *r, uint8_t *scratch)
{
    (void)t, (void)r, (void)scratch;
    image_autocontrast(x);
}

PICTURE_CHANGE(random_autocontrast, random_autocontrast, 0, 0,
               random_autocontrast_read_settings, random_autocontrast_change);
