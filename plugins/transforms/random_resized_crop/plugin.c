/* plugin.c - random_resized_crop: a random window, scaled. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../common/resample.h"
#include "../transform_plugin.h"
#include "window.h"

typedef struct crop {
    int64_t size[2]; /* H, W */
    window_range range;
    batch_kernel kernel;
    resample_filter filter;
    int32_t reserved;
} crop;

static tutti_status random_resized_crop_infer(void *self, tutti_column *columns,
                                              uint32_t ncolumns, tutti_error *err)
{
    const crop *c = self;
    const tutti_status s = refuse_maps("random_resized_crop", columns, ncolumns, err);
    for (uint32_t k = 0; k < ncolumns; k++)
        if (is_image(&columns[k].desc))
            memcpy(columns[k].desc.dim, c->size, sizeof c->size);
    return s;
}

static int32_t random_resized_crop_apply(void *self, const tutti_sample *sample, uint32_t k,
                                         const tutti_tensor *in, tutti_tensor *out,
                                         tutti_error *err)
{
    const crop *c = self;
    (void)k;
    if (!is_image(&in->desc))
        return 0;
    const window w = window_draw(sample_stream(sample, "random_resized_crop"), c->range,
                                 in->desc.dim[0], in->desc.dim[1]);
    const resample_window from = resample_window_of(in, w.top, w.left, w.height, w.width);
    out->desc = in->desc;
    memcpy(out->desc.dim, c->size, sizeof c->size);
    const tutti_status s =
        TUTTI_ISA_PICK(resample)(&from, c->size[0], c->size[1], c->filter, out->data, err);
    return s ? s : 1;
}

/* The manifest's kernel. */
TUTTI_EXPORT void random_resized_crop_cpu(const uint8_t *x, uint8_t *y, const int64_t *index,
                                          uint64_t seed, uint64_t epoch, uint32_t purpose,
                                          double scale_low, double scale_high, double ratio_low,
                                          double ratio_high, double log_low, double log_high,
                                          int64_t height, int64_t width, int64_t rows,
                                          int64_t columns, int64_t channels, int32_t real,
                                          int32_t cubic, int64_t n);

void random_resized_crop_cpu(const uint8_t *x, uint8_t *y, const int64_t *index, uint64_t seed,
                             uint64_t epoch, uint32_t purpose, double scale_low,
                             double scale_high, double ratio_low, double ratio_high,
                             double log_low, double log_high, int64_t height, int64_t width,
                             int64_t rows, int64_t columns, int64_t channels, int32_t real,
                             int32_t cubic, int64_t n)
{
    const window_range range = {
        {scale_low, scale_high}, {ratio_low, ratio_high}, {log_low, log_high}};
    const int64_t size = channels * (real ? 4 : 1);
    for (int64_t k = 0; k * rows * columns < n; k++) {
        const window w = window_draw(tutti_stream_at(seed, purpose, epoch, (uint64_t)index[k]),
                                     range, height, width);
        const resample_window from = {x + ((k * height + w.top) * width + w.left) * size,
                                      width * channels,
                                      w.height,
                                      w.width,
                                      channels,
                                      real ? TUTTI_F32 : TUTTI_U8,
                                      0};
        TUTTI_ISA_PICK(resample_always)
        (&from, rows, columns, cubic ? RESAMPLE_BICUBIC : RESAMPLE_BILINEAR,
         y + k * rows * columns * size);
    }
}

static int32_t random_resized_crop_apply_batch(void *self, const tutti_samples *samples,
                                               uint32_t k, const tutti_tensor *in,
                                               tutti_tensor *out, tutti_error *err)
{
    crop *c = self;
    const tutti_desc *d = &in->desc;
    window_range *r = &c->range;
    (void)k;
    if (!is_image_batch(d))
        return 0;
    tutti_samples s = *samples;
    uint32_t purpose = sample_purpose("random_resized_crop");
    int64_t height = d->dim[1], width = d->dim[2], channels = d->dim[3];
    int64_t n = d->dim[0] * c->size[0] * c->size[1];
    int32_t real = d->dtype == TUTTI_F32, cubic = c->filter == RESAMPLE_BICUBIC;
    const void *x = in->data;
    void *const args[] = {&x,           &out->data,   &s.index,         &s.seed,
                          &s.epoch,     &purpose,     &r->scale[0],     &r->scale[1],
                          &r->ratio[0], &r->ratio[1], &r->log_ratio[0], &r->log_ratio[1],
                          &height,      &width,       &c->size[0],      &c->size[1],
                          &channels,    &real,        &cubic,           &n};
    out->desc = *d;
    memcpy(out->desc.dim + 1, c->size, sizeof c->size);
    return batch_launch(&c->kernel, "random_resized_crop", x, args, sizeof args / sizeof *args,
                        err);
}

/* Two bounds, the smaller one first. */
static tutti_status random_resized_crop_bounds(const tutti_params *params, const char *name,
                                               double to[2], tutti_error *err)
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

static tutti_status random_resized_crop_open(const tutti_host *host, const tutti_params *params,
                                             void **ret_self, tutti_error *err)
{
    crop *c = calloc(1, sizeof *c);
    if (!c)
        return tutti_fail(err, TUTTI_E_NOMEM, "random_resized_crop: no memory");
    c->kernel = batch_kernel_find(host, "random_resized_crop");
    size_setting(params, c->size);
    if (!c->size[1])
        c->size[1] = c->size[0];
    c->filter = (resample_filter)tutti_param_i64(params, "filter");
    tutti_status s = random_resized_crop_bounds(params, "scale", c->range.scale, err);
    if (s == TUTTI_OK)
        s = random_resized_crop_bounds(params, "ratio", c->range.ratio, err);
    for (int k = 0; k < 2; k++)
        c->range.log_ratio[k] = log(c->range.ratio[k]);
    if (s)
        free(c);
    else
        *ret_self = c;
    return s;
}

TRANSFORM_PLUGIN(random_resized_crop, random_resized_crop_open, random_resized_crop_infer,
                 random_resized_crop_apply, random_resized_crop_apply_batch);
