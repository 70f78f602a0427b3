/* plugin.c - random_vertical_flip: the image, and maps of its pixels, mirrored top to bottom, at random. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../transform_plugin.h"

typedef struct vertical_flip {
    double p;
} vertical_flip;

static tutti_status random_vertical_flip_infer(void *self, tutti_column *columns,
                                               uint32_t ncolumns, tutti_error *err)
{
    (void)self, (void)columns, (void)ncolumns, (void)err;
    return TUTTI_OK;
}

/* Whether the column is an image or a map of the pixels of one. */
static int vertical_flip_moves(const tutti_desc *d, const tutti_sample *sample)
{
    if (is_image(d))
        return 1;
    for (uint32_t k = 0; k < sample->ncolumns; k++)
        if (is_image(&sample->columns[k].desc) && is_map_of(d, &sample->columns[k].desc))
            return 1;
    return 0;
}

static int32_t random_vertical_flip_apply(void *self, const tutti_sample *sample, uint32_t k,
                                          const tutti_tensor *in, tutti_tensor *out,
                                          tutti_error *err)
{
    const vertical_flip *f = self;
    (void)k, (void)err;
    if (!vertical_flip_moves(&in->desc, sample))
        return 0;
    tutti_stream s = sample_stream(sample, "random_vertical_flip");
    if (tutti_stream_uniform(&s) >= f->p)
        return 0;
    const int64_t height = in->desc.dim[0];
    const uint64_t row = height ? tutti_nbytes(&in->desc) / (uint64_t)height : 0;
    out->desc = in->desc;
    for (int64_t r = 0; r < height; r++)
        memcpy((char *)out->data + (uint64_t)(height - 1 - r) * row,
               (const char *)in->data + (uint64_t)r * row, row);
    return 1;
}

static tutti_status random_vertical_flip_open(const tutti_host *host,
                                              const tutti_params *params, void **ret_self,
                                              tutti_error *err)
{
    vertical_flip *f = calloc(1, sizeof *f);
    (void)host;
    if (!f)
        return tutti_fail(err, TUTTI_E_NOMEM, "random_vertical_flip: no memory");
    f->p = tutti_param_f64(params, "p");
    *ret_self = f;
    return TUTTI_OK;
}

TRANSFORM_PLUGIN(random_vertical_flip, random_vertical_flip_open, random_vertical_flip_infer,
                 random_vertical_flip_apply, NULL);
