/* plugin.c - random_flip: the image, and maps of its pixels, mirrored left to right, at random. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../transform_plugin.h"
#include "flip.h"

typedef struct flip {
    double p;
    batch_kernel kernel;
    int32_t alternate;
    int32_t reserved;
} flip;

static tutti_status random_flip_infer(void *self, tutti_column *columns, uint32_t ncolumns,
                                      tutti_error *err)
{
    (void)self, (void)columns, (void)ncolumns, (void)err;
    return TUTTI_OK;
}

static inline void mirror_row(const char *x, char *y, int64_t width, uint64_t pixel)
{
    for (int64_t k = 0; k < width; k++)
        memcpy(y + (uint64_t)k * pixel, x + (uint64_t)(width - 1 - k) * pixel, pixel);
}

/* The usual sizes of a pixel are known to the compiler. */
static void random_flip_mirror(const char *x, char *y, int64_t height, int64_t width,
                               uint64_t pixel)
{
    const uint64_t row = (uint64_t)width * pixel;
    for (int64_t r = 0; r < height; r++, x += row, y += row)
        if (pixel == 3)
            mirror_row(x, y, width, 3);
        else if (pixel == 1)
            mirror_row(x, y, width, 1);
        else if (pixel == 12)
            mirror_row(x, y, width, 12);
        else
            mirror_row(x, y, width, pixel);
}

/* Bytes of a pixel of an image or of a map beside one; 0: the column is neither. */
static uint64_t random_flip_pixel(const tutti_desc *d, const tutti_tensor *columns,
                                  uint32_t ncolumns, int (*is_picture)(const tutti_desc *d))
{
    if (is_picture(d))
        return (uint64_t)d->dim[d->rank - 1] * tutti_dtype_size(d->dtype);
    for (uint32_t k = 0; k < ncolumns; k++)
        if (is_picture(&columns[k].desc) && is_map_of(d, &columns[k].desc))
            return tutti_dtype_size(d->dtype);
    return 0;
}

static int32_t random_flip_apply(void *self, const tutti_sample *sample, uint32_t k,
                                 const tutti_tensor *in, tutti_tensor *out, tutti_error *err)
{
    const flip *f = self;
    const uint64_t pixel =
        random_flip_pixel(&in->desc, sample->columns, sample->ncolumns, is_image);
    (void)k, (void)err;
    if (!pixel)
        return 0;
    if (!flip_draw(sample->seed, sample_purpose("random_flip"), sample->epoch, sample->index,
                   f->p, f->alternate))
        return 0;
    out->desc = in->desc;
    random_flip_mirror(in->data, out->data, in->desc.dim[0], in->desc.dim[1], pixel);
    return 1;
}

/* The manifest's kernel. */
TUTTI_EXPORT void random_flip_cpu(const uint8_t *x, uint8_t *y, const int64_t *index,
                                  uint64_t seed, uint64_t epoch, uint32_t purpose, double p,
                                  int32_t alternate, int64_t size, int64_t width, int64_t pixel,
                                  int64_t n);

void random_flip_cpu(const uint8_t *x, uint8_t *y, const int64_t *index, uint64_t seed,
                     uint64_t epoch, uint32_t purpose, double p, int32_t alternate,
                     int64_t size, int64_t width, int64_t pixel, int64_t n)
{
    for (int64_t k = 0; k * size < n; k++, x += size * pixel, y += size * pixel)
        if (flip_draw(seed, purpose, epoch, (uint64_t)index[k], p, alternate))
            random_flip_mirror((const char *)x, (char *)y, size / width, width,
                               (uint64_t)pixel);
        else
            memcpy(y, x, (size_t)(size * pixel));
}

static int32_t random_flip_apply_batch(void *self, const tutti_samples *samples, uint32_t k,
                                       const tutti_tensor *in, tutti_tensor *out,
                                       tutti_error *err)
{
    flip *f = self;
    const tutti_desc *d = &in->desc;
    int64_t pixel =
        (int64_t)random_flip_pixel(d, samples->columns, samples->ncolumns, is_image_batch);
    (void)k;
    if (!pixel || (f->p <= 0.0 && !f->alternate))
        return 0;
    tutti_samples s = *samples;
    uint32_t purpose = sample_purpose("random_flip");
    int64_t width = d->dim[2], size = d->dim[1] * width, n = d->dim[0] * size;
    const void *x = in->data;
    void *const args[] = {&x,    &out->data,    &s.index, &s.seed, &s.epoch, &purpose,
                          &f->p, &f->alternate, &size,    &width,  &pixel,   &n};
    out->desc = *d;
    return batch_launch(&f->kernel, "random_flip", x, args, sizeof args / sizeof *args, err);
}

static tutti_status random_flip_open(const tutti_host *host, const tutti_params *params,
                                     void **ret_self, tutti_error *err)
{
    flip *f = calloc(1, sizeof *f);
    if (!f)
        return tutti_fail(err, TUTTI_E_NOMEM, "random_flip: no memory");
    f->kernel = batch_kernel_find(host, "random_flip");
    f->p = tutti_param_f64(params, "p");
    f->alternate = tutti_param_i64(params, "alternate") != 0;
    *ret_self = f;
    return TUTTI_OK;
}

TRANSFORM_PLUGIN(random_flip, random_flip_open, random_flip_infer, random_flip_apply,
                 random_flip_apply_batch);
