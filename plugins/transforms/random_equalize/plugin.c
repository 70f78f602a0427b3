/* plugin.c - random_equalize: histograms made flat. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../common/picture_change.h"

typedef struct random_equalize {
    double p;
} random_equalize;

static tutti_status random_equalize_read_settings(const tutti_params *params,
                                                  random_equalize *t, tutti_error *err)
{
    (void)params, (void)t, (void)err;
    return TUTTI_OK;
}

static void random_equalize_change(const random_equalize *t, const picture *x, tutti_stream *r,
                                   uint8_t *scratch)
{
    (void)t, (void)r, (void)scratch;
    image_equalize(x);
}

PICTURE_CHANGE(random_equalize, random_equalize, 0, 0, random_equalize_read_settings,
               random_equalize_change);
