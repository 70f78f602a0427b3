/* plugin.c - random_flip: the image mirrored left to right, at random. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../transform_plugin.h"

typedef struct flip {
    double p;
} flip;

static tutti_status infer(void *self, tutti_column *columns, uint32_t ncolumns,
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
static void mirror(const char *x, char *y, int64_t height, int64_t width, uint64_t pixel)
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

static int32_t apply(void *self, const tutti_sample *sample, uint32_t k, const tutti_tensor *in,
                     tutti_tensor *out, tutti_error *err)
{
    const flip *f = self;
    (void)k, (void)err;
    if (!is_image(&in->desc))
        return 0;
    tutti_stream s = sample_stream(sample, "random_flip");
    if (tutti_stream_uniform(&s) >= f->p)
        return 0;
    out->desc = in->desc;
    mirror(in->data, out->data, in->desc.dim[0], in->desc.dim[1], pixel_bytes(&in->desc));
    return 1;
}

static tutti_status open(const tutti_host *host, const tutti_params *params, void **ret_self,
                         tutti_error *err)
{
    (void)host;
    flip *f = calloc(1, sizeof *f);
    if (!f)
        return tutti_fail(err, TUTTI_E_NOMEM, "random_flip: no memory");
    f->p = tutti_param_f64(params, "p");
    *ret_self = f;
    return TUTTI_OK;
}

TRANSFORM_PLUGIN(random_flip, open, infer, apply)
