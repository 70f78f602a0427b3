/* plugin.c - resize: images scaled to a size, or to a shorter side. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../common/resample.h"
#include "../transform_plugin.h"

typedef struct resize {
    int64_t size[2]; /* the shorter side and 0, or height and width */
    batch_kernel kernel;
    resample_filter filter;
    int32_t reserved;
} resize;

/* [H, W] after scaling; -1 where a side is open. */
static void resize_scaled(const resize *r, const int64_t from[2], int64_t to[2])
{
    const int64_t side = r->size[0];
    if (r->size[1]) {
        to[0] = r->size[0];
        to[1] = r->size[1];
    } else if (from[0] < 0 || from[1] < 0) {
        to[0] = to[1] = -1;
    } else if (from[0] < from[1]) {
        to[0] = side;
        to[1] = side * from[1] / from[0];
    } else {
        to[0] = side * from[0] / from[1];
        to[1] = side;
    }
}

static tutti_status resize_infer(void *self, tutti_column *columns, uint32_t ncolumns,
                                 tutti_error *err)
{
    const tutti_status s = refuse_maps("resize", columns, ncolumns, err);
    for (uint32_t k = 0; k < ncolumns; k++) {
        int64_t to[2];
        if (!is_image(&columns[k].desc))
            continue;
        resize_scaled(self, columns[k].desc.dim, to);
        memcpy(columns[k].desc.dim, to, sizeof to);
    }
    return s;
}

static int32_t resize_apply(void *self, const tutti_sample *sample, uint32_t k,
                            const tutti_tensor *in, tutti_tensor *out, tutti_error *err)
{
    const resize *r = self;
    int64_t to[2];
    (void)sample, (void)k;
    if (!is_image(&in->desc))
        return 0;
    resize_scaled(r, in->desc.dim, to);
    if (to[0] == in->desc.dim[0] && to[1] == in->desc.dim[1])
        return 0;
    const resample_window all = resample_window_of(in, 0, 0, in->desc.dim[0], in->desc.dim[1]);
    out->desc = in->desc;
    memcpy(out->desc.dim, to, sizeof to);
    const tutti_status s =
        TUTTI_ISA_PICK(resample)(&all, to[0], to[1], r->filter, out->data, err);
    return s ? s : 1;
}

/* The manifest's kernel. */
TUTTI_EXPORT void resize_cpu(const uint8_t *x, uint8_t *y, int64_t height, int64_t width,
                             int64_t rows, int64_t columns, int64_t channels, int32_t real,
                             int32_t cubic, int64_t n);

void resize_cpu(const uint8_t *x, uint8_t *y, int64_t height, int64_t width, int64_t rows,
                int64_t columns, int64_t channels, int32_t real, int32_t cubic, int64_t n)
{
    const int64_t size = channels * (real ? 4 : 1);
    for (int64_t k = 0; k * rows * columns < n; k++) {
        const resample_window all = {x + k * height * width * size,
                                     width * channels,
                                     height,
                                     width,
                                     channels,
                                     real ? TUTTI_F32 : TUTTI_U8,
                                     0};
        TUTTI_ISA_PICK(resample_always)
        (&all, rows, columns, cubic ? RESAMPLE_BICUBIC : RESAMPLE_BILINEAR,
         y + k * rows * columns * size);
    }
}

static int32_t resize_apply_batch(void *self, const tutti_samples *samples, uint32_t k,
                                  const tutti_tensor *in, tutti_tensor *out, tutti_error *err)
{
    resize *r = self;
    const tutti_desc *d = &in->desc;
    int64_t to[2];
    (void)samples, (void)k;
    if (!is_image_batch(d))
        return 0;
    resize_scaled(r, d->dim + 1, to);
    if (to[0] == d->dim[1] && to[1] == d->dim[2])
        return 0;
    int64_t height = d->dim[1], width = d->dim[2], channels = d->dim[3];
    int64_t n = d->dim[0] * to[0] * to[1];
    int32_t real = d->dtype == TUTTI_F32, cubic = r->filter == RESAMPLE_BICUBIC;
    const void *x = in->data;
    void *const args[] = {&x,     &out->data, &height, &width, &to[0],
                          &to[1], &channels,  &real,   &cubic, &n};
    out->desc = *d;
    memcpy(out->desc.dim + 1, to, sizeof to);
    return batch_launch(&r->kernel, "resize", x, args, sizeof args / sizeof *args, err);
}

static tutti_status resize_open(const tutti_host *host, const tutti_params *params,
                                void **ret_self, tutti_error *err)
{
    resize *r = calloc(1, sizeof *r);
    if (!r)
        return tutti_fail(err, TUTTI_E_NOMEM, "resize: no memory");
    r->kernel = batch_kernel_find(host, "resize");
    size_setting(params, r->size);
    r->filter = (resample_filter)tutti_param_i64(params, "filter");
    *ret_self = r;
    return TUTTI_OK;
}

TRANSFORM_PLUGIN(resize, resize_open, resize_infer, resize_apply, resize_apply_batch);
