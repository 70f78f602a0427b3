/* plugin.c - random_solarize: bright pixels inverted. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../common/picture_change.h"

typedef struct random_solarize {
    double p;
    int threshold;
} random_solarize;

static tutti_status random_solarize_read_settings(const tutti_params *params,
                                                  random_solarize *t, tutti_error *err)
{
    (void)err;
    t->threshold = (int)ceil(tutti_param_f64(params, "threshold"));
    return TUTTI_OK;
}

static void random_solarize_change(const random_solarize *t, const picture *x, tutti_stream *r,
                                   uint8_t *scratch)
{
    (void)r, (void)scratch;
    image_solarize(x, t->threshold);
}

PICTURE_CHANGE(random_solarize, random_solarize, 0, 0, random_solarize_read_settings,
               random_solarize_change);
