/* plugin.c - elastic_transform: pixels displaced by smooth random fields. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../common/picture_change.h"
#include "elastic.h"

/* "alpha" and "sigma": one number is both. */
static void pair_setting(const tutti_params *params, const char *name, double pair[2])
{
    const tutti_param *p = tutti_param_find(params, name);
    pair[0] = p->items[0]->f;
    pair[1] = p->items[p->count - 1]->f;
}

static tutti_status elastic_transform_read_settings(const tutti_params *params, elastic *t,
                                                    tutti_error *err)
{
    pair_setting(params, "alpha", t->alpha);
    pair_setting(params, "sigma", t->sigma);
    t->warp.filter = (int32_t)tutti_param_i64(params, "interpolation");
    memset(t->warp.fill, (int)tutti_param_i64(params, "fill"), sizeof t->warp.fill);
    if ((t->sigma[0] > 0.0) != (t->sigma[1] > 0.0))
        return tutti_fail(err, TUTTI_E_ARG,
                          "elastic_transform: sigma is [%g, %g], want both 0 or none",
                          t->sigma[0], t->sigma[1]);
    return TUTTI_OK;
}

/* The picture is mirrored by half of the larger kernel. */
static tutti_status elastic_transform_fits(const elastic *t, const tutti_desc *d,
                                           tutti_error *err)
{
    const int64_t a = elastic_kernel(t, 0), b = elastic_kernel(t, 1),
                  half = (a > b ? a : b) / 2;
    if (t->sigma[0] <= 0.0 || (d->dim[0] > half && d->dim[1] > half))
        return TUTTI_OK;
    return tutti_fail(err, TUTTI_E_SHAPE,
                      "elastic_transform: a picture is %lld x %lld, want sides above %lld "
                      "pixels, or a smaller sigma",
                      (long long)d->dim[0], (long long)d->dim[1], (long long)half);
}

static tutti_status elastic_transform_change(const elastic *t, const picture *x,
                                             tutti_stream *r, uint8_t *scratch,
                                             tutti_error *err)
{
    const int64_t n = x->h * x->w;
    float *field[2] = {(float *)(void *)scratch, (float *)(void *)scratch + n};
    float *more = field[1] + n;
    (void)err;
    for (int axis = 0; axis < 2; axis++) {
        for (int64_t i = 0; i < n; i++)
            field[axis][i] = (float)tutti_stream_uniform(r);
        elastic_smooth(t, axis, x->h, x->w, field[axis], more);
    }
    elastic_move(x, field[0], field[1], &t->warp, (uint8_t *)(more + n));
    return TUTTI_OK;
}

/* Three fields of floats and a copy, for one channel. */
PICTURE_CHANGE_OR_FAIL(elastic_transform, elastic, 1, 13, elastic_transform_read_settings,
                       elastic_transform_fits, elastic_transform_change);
