/* plugin.c - random_adjust_sharpness: edges sharper or softer. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../common/picture_change.h"

typedef struct random_adjust_sharpness {
    double p;
    double factor;
} random_adjust_sharpness;

static tutti_status random_adjust_sharpness_read_settings(const tutti_params *params,
                                                          random_adjust_sharpness *t,
                                                          tutti_error *err)
{
    (void)err;
    t->factor = tutti_param_f64(params, "sharpness_factor");
    return TUTTI_OK;
}

static void random_adjust_sharpness_change(const random_adjust_sharpness *t, const picture *x,
                                           tutti_stream *r, uint8_t *scratch)
{
    (void)r;
    image_sharpness(x, t->factor, scratch);
}

PICTURE_CHANGE(random_adjust_sharpness, random_adjust_sharpness, 0, 1,
               random_adjust_sharpness_read_settings, random_adjust_sharpness_change);
