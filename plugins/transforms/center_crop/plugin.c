/* plugin.c - center_crop: the window in the middle of an image. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../transform_plugin.h"
#include "middle.h"

typedef struct crop {
    int64_t size[2]; /* H, W */
    batch_kernel kernel;
} crop;

static tutti_status center_crop_infer(void *self, tutti_column *columns, uint32_t ncolumns,
                                      tutti_error *err)
{
    const crop *c = self;
    const tutti_status s = refuse_maps("center_crop", columns, ncolumns, err);
    for (uint32_t k = 0; k < ncolumns; k++)
        if (is_image(&columns[k].desc))
            memcpy(columns[k].desc.dim, c->size, sizeof c->size);
    return s;
}

/* x: (have[0], have[1]) pixels -> y: (want[0], want[1]) */
static void center_crop_cut(const char *x, char *y, const int64_t have[2],
                            const int64_t want[2], uint64_t pixel)
{
    const middle_begin down = middle_of(have[0], want[0]), across = middle_of(have[1], want[1]);
    const int64_t rows = have[0] < want[0] ? have[0] : want[0];
    const int64_t width = have[1] < want[1] ? have[1] : want[1];
    if (rows < want[0] || width < want[1])
        memset(y, 0, (uint64_t)(want[0] * want[1]) * pixel);
    for (int64_t r = 0; r < rows; r++)
        memcpy(y + (uint64_t)((down.to + r) * want[1] + across.to) * pixel,
               x + (uint64_t)((down.from + r) * have[1] + across.from) * pixel,
               (uint64_t)width * pixel);
}

static int32_t center_crop_apply(void *self, const tutti_sample *sample, uint32_t k,
                                 const tutti_tensor *in, tutti_tensor *out, tutti_error *err)
{
    const crop *c = self;
    const int64_t *have = in->desc.dim, *want = c->size;
    (void)sample, (void)k, (void)err;
    if (!is_image(&in->desc) || (have[0] == want[0] && have[1] == want[1]))
        return 0;
    out->desc = in->desc;
    memcpy(out->desc.dim, want, sizeof c->size);
    center_crop_cut(in->data, out->data, have, want, pixel_bytes(&in->desc));
    return 1;
}

/* The manifest's kernel. */
TUTTI_EXPORT void center_crop_cpu(const uint8_t *x, uint8_t *y, int64_t height, int64_t width,
                                  int64_t rows, int64_t columns, int64_t pixel, int64_t n);

void center_crop_cpu(const uint8_t *x, uint8_t *y, int64_t height, int64_t width, int64_t rows,
                     int64_t columns, int64_t pixel, int64_t n)
{
    const int64_t have[2] = {height, width}, want[2] = {rows, columns};
    for (int64_t k = 0; k * rows * columns < n; k++)
        center_crop_cut((const char *)x + k * height * width * pixel,
                        (char *)y + k * rows * columns * pixel, have, want, (uint64_t)pixel);
}

static int32_t center_crop_apply_batch(void *self, const tutti_samples *samples, uint32_t k,
                                       const tutti_tensor *in, tutti_tensor *out,
                                       tutti_error *err)
{
    crop *c = self;
    const tutti_desc *d = &in->desc;
    (void)samples, (void)k;
    if (!is_image_batch(d) || (d->dim[1] == c->size[0] && d->dim[2] == c->size[1]))
        return 0;
    int64_t height = d->dim[1], width = d->dim[2], n = d->dim[0] * c->size[0] * c->size[1];
    int64_t pixel = d->dim[3] * (int64_t)tutti_dtype_size(d->dtype);
    const void *x = in->data;
    void *const args[] = {&x,          &out->data,  &height, &width,
                          &c->size[0], &c->size[1], &pixel,  &n};
    out->desc = *d;
    memcpy(out->desc.dim + 1, c->size, sizeof c->size);
    return batch_launch(&c->kernel, "center_crop", x, args, sizeof args / sizeof *args, err);
}

static tutti_status center_crop_open(const tutti_host *host, const tutti_params *params,
                                     void **ret_self, tutti_error *err)
{
    crop *c = calloc(1, sizeof *c);
    if (!c)
        return tutti_fail(err, TUTTI_E_NOMEM, "center_crop: no memory");
    c->kernel = batch_kernel_find(host, "center_crop");
    size_setting(params, c->size);
    if (!c->size[1])
        c->size[1] = c->size[0];
    *ret_self = c;
    return TUTTI_OK;
}

TRANSFORM_PLUGIN(center_crop, center_crop_open, center_crop_infer, center_crop_apply,
                 center_crop_apply_batch);
