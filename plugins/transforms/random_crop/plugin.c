/* plugin.c - random_crop: the image padded, then a random window of its old size. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../transform_plugin.h"

typedef struct crop {
    int64_t padding;
    int32_t reflect;
    int32_t reserved;
} crop;

/* A reflection has no more rows and columns than the image without its edge. */
static int fits(const crop *c, const tutti_desc *d)
{
    return !c->reflect || (c->padding < d->dim[0] && c->padding < d->dim[1]);
}

static tutti_status too_small(const crop *c, const tutti_desc *d, tutti_error *err)
{
    return tutti_fail(err, TUTTI_E_RANGE,
                      "random_crop: padding is %lld, want less than the sides of an image of "
                      "%lld x %lld to reflect",
                      (long long)c->padding, (long long)d->dim[0], (long long)d->dim[1]);
}

static tutti_status infer(void *self, tutti_column *columns, uint32_t ncolumns,
                          tutti_error *err)
{
    const crop *c = self;
    for (uint32_t k = 0; k < ncolumns; k++) {
        const tutti_desc *d = &columns[k].desc;
        if (is_image(d) && d->dim[0] >= 0 && d->dim[1] >= 0 && !fits(c, d))
            return too_small(c, d, err);
    }
    return TUTTI_OK;
}

/* Source row or column of `at`; -1 outside the image with zero padding. */
static int64_t source(const crop *c, int64_t at, int64_t n)
{
    if (at >= 0 && at < n)
        return at;
    if (!c->reflect)
        return -1;
    return at < 0 ? -at : 2 * n - 2 - at;
}

/* Pixels dx to dx + w of a line: those inside in one piece, the others one by one. */
static void crop_row(const crop *c, char *row, const char *line, int64_t w, int64_t dx,
                     uint64_t pixel)
{
    const int64_t first = dx < 0 ? -dx : 0, last = dx > 0 ? w - dx : w;
    for (int64_t x = 0; x < w; x++) {
        if (x == first && last > first) {
            memcpy(row + (uint64_t)first * pixel, line + (uint64_t)(first + dx) * pixel,
                   (uint64_t)(last - first) * pixel);
            x = last - 1;
            continue;
        }
        const int64_t at = source(c, x + dx, w);
        if (at < 0)
            memset(row + (uint64_t)x * pixel, 0, pixel);
        else
            memcpy(row + (uint64_t)x * pixel, line + (uint64_t)at * pixel, pixel);
    }
}

static int32_t apply(void *self, const tutti_sample *sample, uint32_t k, const tutti_tensor *in,
                     tutti_tensor *out, tutti_error *err)
{
    const crop *c = self;
    (void)k;
    if (!is_image(&in->desc) || c->padding == 0)
        return 0;
    if (!fits(c, &in->desc))
        return too_small(c, &in->desc, err);
    tutti_stream s = sample_stream(sample, "random_crop");
    const uint32_t range = (uint32_t)(2 * c->padding + 1);
    const int64_t dy = (int64_t)tutti_stream_below(&s, range) - c->padding;
    const int64_t dx = (int64_t)tutti_stream_below(&s, range) - c->padding;
    const int64_t h = in->desc.dim[0], w = in->desc.dim[1];
    const uint64_t pixel = pixel_bytes(&in->desc);
    out->desc = in->desc;
    for (int64_t y = 0; y < h; y++) {
        const int64_t from = source(c, y + dy, h);
        char *row = (char *)out->data + (uint64_t)(y * w) * pixel;
        if (from < 0)
            memset(row, 0, (uint64_t)w * pixel);
        else
            crop_row(c, row, (const char *)in->data + (uint64_t)(from * w) * pixel, w, dx,
                     pixel);
    }
    return 1;
}

static tutti_status open(const tutti_host *host, const tutti_params *params, void **ret_self,
                         tutti_error *err)
{
    (void)host;
    crop *c = calloc(1, sizeof *c);
    if (!c)
        return tutti_fail(err, TUTTI_E_NOMEM, "random_crop: no memory");
    c->padding = tutti_param_i64(params, "padding");
    c->reflect = strcmp(tutti_param_str(params, "mode"), "reflect") == 0;
    *ret_self = c;
    return TUTTI_OK;
}

TRANSFORM_PLUGIN(random_crop, open, infer, apply)
