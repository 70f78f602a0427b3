/* plugin.c - resize: images scaled to a size, or to a shorter side. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../common/resample.h"
#include "../transform_plugin.h"

typedef struct resize {
    int64_t size[2]; /* the shorter side and 0, or height and width */
    resample_filter filter;
    int32_t reserved;
} resize;

/* [H, W] after scaling; -1 where a side is open. */
static void scaled(const resize *r, const int64_t from[2], int64_t to[2])
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

static tutti_status infer(void *self, tutti_column *columns, uint32_t ncolumns,
                          tutti_error *err)
{
    (void)err;
    for (uint32_t k = 0; k < ncolumns; k++) {
        int64_t to[2];
        if (!is_image(&columns[k].desc))
            continue;
        scaled(self, columns[k].desc.dim, to);
        memcpy(columns[k].desc.dim, to, sizeof to);
    }
    return TUTTI_OK;
}

static int32_t apply(void *self, const tutti_sample *sample, uint32_t k, const tutti_tensor *in,
                     tutti_tensor *out, tutti_error *err)
{
    const resize *r = self;
    int64_t to[2];
    (void)sample, (void)k;
    if (!is_image(&in->desc))
        return 0;
    scaled(r, in->desc.dim, to);
    if (to[0] == in->desc.dim[0] && to[1] == in->desc.dim[1])
        return 0;
    const resample_window all = resample_window_of(in, 0, 0, in->desc.dim[0], in->desc.dim[1]);
    out->desc = in->desc;
    memcpy(out->desc.dim, to, sizeof to);
    const tutti_status s = resample(&all, to[0], to[1], r->filter, out->data, err);
    return s ? s : 1;
}

static tutti_status open(const tutti_host *host, const tutti_params *params, void **ret_self,
                         tutti_error *err)
{
    (void)host;
    resize *r = calloc(1, sizeof *r);
    if (!r)
        return tutti_fail(err, TUTTI_E_NOMEM, "resize: no memory");
    size_setting(params, r->size);
    r->filter = (resample_filter)tutti_param_i64(params, "filter");
    *ret_self = r;
    return TUTTI_OK;
}

TRANSFORM_PLUGIN(resize, open, infer, apply, NULL)
