/* plugin.c - random_crop: the image padded, then a random window of its old size. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../transform_plugin.h"
#include "crop.h"

typedef struct crop {
    int64_t padding;
    batch_kernel kernel;
    int32_t reflect;
    int32_t reserved;
} crop;

/* A reflection has no more rows and columns than the image without its edge. */
static int random_crop_fits(const crop *c, const tutti_desc *d)
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

static tutti_status random_crop_infer(void *self, tutti_column *columns, uint32_t ncolumns,
                                      tutti_error *err)
{
    const crop *c = self;
    for (uint32_t k = 0; k < ncolumns; k++) {
        const tutti_desc *d = &columns[k].desc;
        if (is_image(d) && d->dim[0] >= 0 && d->dim[1] >= 0 && !random_crop_fits(c, d))
            return too_small(c, d, err);
    }
    return refuse_maps("random_crop", columns, ncolumns, err);
}

/* Pixels dx to dx + w of a line: those inside in one piece, the others one by one. */
static void crop_row(int32_t reflect, char *row, const char *line, int64_t w, int64_t dx,
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
        const int64_t at = crop_source(reflect, x + dx, w);
        if (at < 0)
            memset(row + (uint64_t)x * pixel, 0, pixel);
        else
            memcpy(row + (uint64_t)x * pixel, line + (uint64_t)at * pixel, pixel);
    }
}

static void crop_image(int32_t reflect, const char *x, char *y, int64_t h, int64_t w,
                       uint64_t pixel, crop_shift shift)
{
    for (int64_t r = 0; r < h; r++) {
        const int64_t from = crop_source(reflect, r + shift.dy, h);
        char *row = y + (uint64_t)(r * w) * pixel;
        if (from < 0)
            memset(row, 0, (uint64_t)w * pixel);
        else
            crop_row(reflect, row, x + (uint64_t)(from * w) * pixel, w, shift.dx, pixel);
    }
}

static int32_t random_crop_apply(void *self, const tutti_sample *sample, uint32_t k,
                                 const tutti_tensor *in, tutti_tensor *out, tutti_error *err)
{
    const crop *c = self;
    (void)k;
    if (!is_image(&in->desc) || c->padding == 0)
        return 0;
    if (!random_crop_fits(c, &in->desc))
        return too_small(c, &in->desc, err);
    out->desc = in->desc;
    crop_image(c->reflect, in->data, out->data, in->desc.dim[0], in->desc.dim[1],
               pixel_bytes(&in->desc),
               crop_draw(sample->seed, sample_purpose("random_crop"), sample->epoch,
                         sample->index, c->padding));
    return 1;
}

/* The manifest's kernel. */
TUTTI_EXPORT void random_crop_cpu(const uint8_t *x, uint8_t *y, const int64_t *index,
                                  uint64_t seed, uint64_t epoch, uint32_t purpose,
                                  int32_t reflect, int64_t padding, int64_t height,
                                  int64_t width, int64_t pixel, int64_t n);

void random_crop_cpu(const uint8_t *x, uint8_t *y, const int64_t *index, uint64_t seed,
                     uint64_t epoch, uint32_t purpose, int32_t reflect, int64_t padding,
                     int64_t height, int64_t width, int64_t pixel, int64_t n)
{
    const int64_t size = height * width * pixel;
    for (int64_t k = 0; k * size < n * pixel; k++)
        crop_image(reflect, (const char *)x + k * size, (char *)y + k * size, height, width,
                   (uint64_t)pixel,
                   crop_draw(seed, purpose, epoch, (uint64_t)index[k], padding));
}

static int32_t random_crop_apply_batch(void *self, const tutti_samples *samples, uint32_t k,
                                       const tutti_tensor *in, tutti_tensor *out,
                                       tutti_error *err)
{
    crop *c = self;
    const tutti_desc *d = &in->desc;
    (void)k;
    if (!is_image_batch(d) || c->padding == 0)
        return 0;
    tutti_samples s = *samples;
    uint32_t purpose = sample_purpose("random_crop");
    int64_t height = d->dim[1], width = d->dim[2], n = d->dim[0] * height * width;
    int64_t pixel = d->dim[3] * (int64_t)tutti_dtype_size(d->dtype);
    const void *x = in->data;
    void *const args[] = {&x,          &out->data,  &s.index, &s.seed, &s.epoch, &purpose,
                          &c->reflect, &c->padding, &height,  &width,  &pixel,   &n};
    out->desc = *d;
    return batch_launch(&c->kernel, "random_crop", x, args, sizeof args / sizeof *args, err);
}

static tutti_status random_crop_open(const tutti_host *host, const tutti_params *params,
                                     void **ret_self, tutti_error *err)
{
    crop *c = calloc(1, sizeof *c);
    if (!c)
        return tutti_fail(err, TUTTI_E_NOMEM, "random_crop: no memory");
    c->kernel = batch_kernel_find(host, "random_crop");
    c->padding = tutti_param_i64(params, "padding");
    c->reflect = strcmp(tutti_param_str(params, "mode"), "reflect") == 0;
    *ret_self = c;
    return TUTTI_OK;
}

TRANSFORM_PLUGIN(random_crop, random_crop_open, random_crop_infer, random_crop_apply,
                 random_crop_apply_batch);
