/* plugin.c - center_crop: the window in the middle of an image. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../transform_plugin.h"

typedef struct crop {
    int64_t size[2]; /* H, W */
} crop;

/* Where the window begins along one side: in the image, and in what is made. */
static void middle(int64_t have, int64_t want, int64_t *ret_from, int64_t *ret_to)
{
    const int64_t spare = have - want, half = spare / 2;
    *ret_to = spare < 0 ? -spare / 2 : 0;
    /* halves go to the even number, as Python rounds them */
    *ret_from = spare < 0 ? 0 : half + (spare % 2 && half % 2);
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
    const int64_t *have = in->desc.dim, *want = c->size;
    int64_t from[2], to[2];
    (void)sample, (void)k, (void)err;
    if (!is_image(&in->desc) || (have[0] == want[0] && have[1] == want[1]))
        return 0;
    const uint64_t pixel = pixel_bytes(&in->desc);
    for (int i = 0; i < 2; i++)
        middle(have[i], want[i], &from[i], &to[i]);
    const int64_t rows = have[0] < want[0] ? have[0] : want[0];
    const int64_t width = have[1] < want[1] ? have[1] : want[1];
    out->desc = in->desc;
    memcpy(out->desc.dim, want, sizeof c->size);
    if (rows < want[0] || width < want[1])
        memset(out->data, 0, tutti_nbytes(&out->desc));
    for (int64_t r = 0; r < rows; r++)
        memcpy((char *)out->data + (uint64_t)((to[0] + r) * want[1] + to[1]) * pixel,
               (const char *)in->data + (uint64_t)((from[0] + r) * have[1] + from[1]) * pixel,
               (uint64_t)width * pixel);
    return 1;
}

static tutti_status open(const tutti_host *host, const tutti_params *params, void **ret_self,
                         tutti_error *err)
{
    (void)host;
    crop *c = calloc(1, sizeof *c);
    if (!c)
        return tutti_fail(err, TUTTI_E_NOMEM, "center_crop: no memory");
    size_setting(params, c->size);
    if (!c->size[1])
        c->size[1] = c->size[0];
    *ret_self = c;
    return TUTTI_OK;
}

TRANSFORM_PLUGIN(center_crop, open, infer, apply)
