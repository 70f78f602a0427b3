/* plugin.c - random_posterize: fewer bits a channel. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../common/picture_change.h"

typedef struct random_posterize {
    double p;
    int bits;
} random_posterize;

static tutti_status random_posterize_read_settings(const tutti_params *params,
                                                   random_posterize *t, tutti_error *err)
{
    (void)err;
    t->bits = (int)tutti_param_i64(params, "bits");
    return TUTTI_OK;
}

static void random_posterize_change(const random_posterize *t, const picture *x,
                                    tutti_stream *r, uint8_t *scratch)
{
    (void)r, (void)scratch;
    image_posterize(x, t->bits);
}

PICTURE_CHANGE(random_posterize, random_posterize, 0, 0, random_posterize_read_settings,
               random_posterize_change);
