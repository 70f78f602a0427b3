/* plugin.c - random_rotation: a picture rotated. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../common/picture_change.h"
#include "../common/warp.h"

typedef struct random_rotation {
    double p;
    double degrees[2];
    warp_options warp;
} random_rotation;

static tutti_status random_rotation_read_settings(const tutti_params *params,
                                                  random_rotation *t, tutti_error *err)
{
    t->warp.filter = (int32_t)tutti_param_i64(params, "interpolation");
    memset(t->warp.fill, (int)tutti_param_i64(params, "fill"), sizeof t->warp.fill);
    const tutti_status s = range_setting(params, "degrees", t->degrees, err);
    if (s)
        return s;
    return TUTTI_OK;
}

static void random_rotation_change(const random_rotation *t, const picture *x, tutti_stream *r,
                                   uint8_t *scratch)
{
    warp_rotate(x, stream_between(r, t->degrees[0], t->degrees[1]), &t->warp, scratch);
}

PICTURE_CHANGE(random_rotation, random_rotation, 1, 1, random_rotation_read_settings,
               random_rotation_change);
