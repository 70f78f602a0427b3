/* plugin.c - random_resized_crop: a random window, scaled. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../common/resample.h"
#include "../transform_plugin.h"

#include <math.h>

enum { TRIES = 10 };

typedef struct crop {
    int64_t size[2]; /* H, W */
    double scale[2];
    double ratio[2];
    resample_filter filter;
    int32_t reserved;
} crop;

typedef struct window {
    int64_t top;
    int64_t left;
    int64_t height;
    int64_t width;
} window;

/* The largest window in the middle whose ratio is within its bounds. */
static window middle(const crop *c, int64_t height, int64_t width)
{
    const double ratio = (double)width / (double)height;
    window w = {0, 0, height, width};
    if (ratio < c->ratio[0])
        w.height = (int64_t)rint((double)width / c->ratio[0]);
    else if (ratio > c->ratio[1])
        w.width = (int64_t)rint((double)height * c->ratio[1]);
    w.height = w.height < 1 ? 1 : w.height > height ? height : w.height;
    w.width = w.width < 1 ? 1 : w.width > width ? width : w.width;
    w.top = (height - w.height) / 2;
    w.left = (width - w.width) / 2;
    return w;
}

static window draw(const crop *c, const tutti_sample *sample, int64_t height, int64_t width)
{
    tutti_stream s = sample_stream(sample, "random_resized_crop");
    const double area = (double)height * (double)width;
    const double low = log(c->ratio[0]), high = log(c->ratio[1]);
    for (int k = 0; k < TRIES; k++) {
        const double target = area * stream_between(&s, c->scale[0], c->scale[1]);
        const double ratio = exp(stream_between(&s, low, high));
        window w = {0, 0, (int64_t)rint(sqrt(target / ratio)),
                    (int64_t)rint(sqrt(target * ratio))};
        if (w.height < 1 || w.height > height || w.width < 1 || w.width > width)
            continue;
        w.top = tutti_stream_below(&s, (uint32_t)(height - w.height + 1));
        w.left = tutti_stream_below(&s, (uint32_t)(width - w.width + 1));
        return w;
    }
    return middle(c, height, width);
}

static tutti_status infer(void *self, tutti_column *columns, uint32_t ncolumns,
                          tutti_error *err)
{
    const crop *c = self;
    (void)err;
    for (uint32_t k = 0; k < ncolumns; k++)
        if (is_image(&columns[k].desc))
            memcpy(columns[k].desc.dim, c->size, sizeof c->size);
    return TUTTI_OK;
}

static int32_t apply(void *self, const tutti_sample *sample, uint32_t k, const tutti_tensor *in,
                     tutti_tensor *out, tutti_error *err)
{
    const crop *c = self;
    (void)k;
    if (!is_image(&in->desc))
        return 0;
    const window w = draw(c, sample, in->desc.dim[0], in->desc.dim[1]);
    const resample_window from = resample_window_of(in, w.top, w.left, w.height, w.width);
    out->desc = in->desc;
    memcpy(out->desc.dim, c->size, sizeof c->size);
    const tutti_status s = resample(&from, c->size[0], c->size[1], c->filter, out->data, err);
    return s ? s : 1;
}

/* Two bounds, the smaller one first. */
static tutti_status bounds(const tutti_params *params, const char *name, double to[2],
                           tutti_error *err)
{
    const tutti_param *p = tutti_param_find(params, name);
    to[0] = p->items[0]->f;
    to[1] = p->items[1]->f;
    return to[0] <= to[1] ? TUTTI_OK
                          : tutti_fail(err, TUTTI_E_RANGE,
                                       "random_resized_crop: %s is %g to %g, want the smaller "
                                       "number first",
                                       name, to[0], to[1]);
}

static tutti_status open(const tutti_host *host, const tutti_params *params, void **ret_self,
                         tutti_error *err)
{
    (void)host;
    crop *c = calloc(1, sizeof *c);
    if (!c)
        return tutti_fail(err, TUTTI_E_NOMEM, "random_resized_crop: no memory");
    size_setting(params, c->size);
    if (!c->size[1])
        c->size[1] = c->size[0];
    c->filter = (resample_filter)tutti_param_i64(params, "filter");
    tutti_status s = bounds(params, "scale", c->scale, err);
    if (s == TUTTI_OK)
        s = bounds(params, "ratio", c->ratio, err);
    if (s)
        free(c);
    else
        *ret_self = c;
    return s;
}

TRANSFORM_PLUGIN(random_resized_crop, open, infer, apply, NULL)
