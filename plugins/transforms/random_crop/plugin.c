/* plugin.c - random_crop: the image padded, then a random window of its old size. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tutti/rng.h"
#include "tutti/transform.h"
#include "tutti/tutti.h"

#include <stdlib.h>
#include <string.h>

typedef struct crop {
    int64_t padding;
    int32_t reflect;
    int32_t reserved;
} crop;

static int is_image(const tutti_desc *d)
{
    return d->rank == 3 && (d->dtype == TUTTI_U8 || d->dtype == TUTTI_F32);
}

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
    tutti_stream s =
        tutti_stream_at(sample->seed, TUTTI_RNG_TRANSFORM ^ (uint32_t)tutti_hash("random_crop"),
                        sample->epoch, sample->index);
    const uint32_t range = (uint32_t)(2 * c->padding + 1);
    const int64_t dy = (int64_t)tutti_stream_below(&s, range) - c->padding;
    const int64_t dx = (int64_t)tutti_stream_below(&s, range) - c->padding;
    const int64_t h = in->desc.dim[0], w = in->desc.dim[1];
    const uint64_t pixel = (uint64_t)in->desc.dim[2] * tutti_dtype_size(in->desc.dtype);
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

static tutti_status close(void *self, tutti_error *err)
{
    (void)err;
    free(self);
    return TUTTI_OK;
}

static const tutti_transform_v1 table = {sizeof table, 0, infer, apply};

static const void *query(void *self, const char *id)
{
    (void)self;
    return strcmp(id, TUTTI_TRANSFORM_V1) == 0 ? &table : NULL;
}

static const tutti_calls calls = {sizeof calls, 0, open, NULL, NULL, NULL, close, NULL, query};
static const tutti_object object =
    TUTTI_OBJECT_INIT("random_crop", TUTTI_KIND_TRANSFORM, &calls);
static const tutti_object *const objects[] = {&object, NULL};
static const tutti_plugin plugin = TUTTI_PLUGIN_INIT("org.tutti.random_crop", "1.0.0", objects);

TUTTI_EXPORT const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)
{
    (void)host_abi;
    return &plugin;
}
