/* plugin.c - random_affine: a picture rotated, moved, scaled and sheared. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../common/picture_change.h"
#include "../common/warp.h"

typedef struct random_affine {
    double p;
    double degrees[2], translate[2], scale[2], shear[2][2];
    warp_options warp;
} random_affine;

static tutti_status random_affine_read_settings(const tutti_params *params, random_affine *t,
                                                tutti_error *err)
{
    t->warp.filter = (int32_t)tutti_param_i64(params, "interpolation");
    memset(t->warp.fill, (int)tutti_param_i64(params, "fill"), sizeof t->warp.fill);
    const tutti_param *most = tutti_param_find(params, "translate");
    tutti_status s = range_setting(params, "degrees", t->degrees, err);
    if (!s)
        s = range_setting(params, "scale", t->scale, err);
    if (!s)
        s = range_setting(params, "shear", t->shear[0], err);
    if (!s)
        s = range_setting(params, "shear_y", t->shear[1], err);
    for (int k = 0; k < 2; k++)
        t->translate[k] = most->items[k]->f;
    if (s)
        return s;
    return TUTTI_OK;
}

static void random_affine_change(const random_affine *t, const picture *x, tutti_stream *r,
                                 uint8_t *scratch)
{
    const double side[2] = {(double)x->w, (double)x->h};
    double m[6];
    warp_change c = {.degrees = stream_between(r, t->degrees[0], t->degrees[1])};
    for (int k = 0; k < 2; k++) {
        const double most = t->translate[k] * side[k];
        c.translate[k] = rint(stream_between(r, -most, most));
        c.center[k] = 0.5 * side[k];
    }
    c.scale = stream_between(r, t->scale[0], t->scale[1]);
    for (int k = 0; k < 2; k++)
        c.shear[k] = stream_between(r, t->shear[k][0], t->shear[k][1]);
    warp_inverse(&c, m);
    warp_affine(x, m, &t->warp, scratch);
}

PICTURE_CHANGE(random_affine, random_affine, 1, 1, random_affine_read_settings,
               random_affine_change);
