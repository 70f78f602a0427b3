/* plugin.c - to_float: u8 images as f32. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../transform_plugin.h"

typedef struct to_float {
    float values[256]; /* of every byte */
} to_float;

static int is_bytes(const tutti_desc *d)
{
    return d->rank == 3 && d->dtype == TUTTI_U8;
}

static tutti_status infer(void *self, tutti_column *columns, uint32_t ncolumns,
                          tutti_error *err)
{
    (void)self, (void)err;
    for (uint32_t k = 0; k < ncolumns; k++)
        if (is_bytes(&columns[k].desc))
            columns[k].desc.dtype = TUTTI_F32;
    return TUTTI_OK;
}

static int32_t apply(void *self, const tutti_sample *sample, uint32_t k, const tutti_tensor *in,
                     tutti_tensor *out, tutti_error *err)
{
    const to_float *t = self;
    (void)sample, (void)k, (void)err;
    if (!is_bytes(&in->desc))
        return 0;
    const uint8_t *x = in->data;
    float *y = out->data;
    out->desc = in->desc;
    out->desc.dtype = TUTTI_F32;
    for (int64_t i = 0, n = tutti_numel(&in->desc); i < n; i++)
        y[i] = t->values[x[i]];
    return 1;
}

static tutti_status open(const tutti_host *host, const tutti_params *params, void **ret_self,
                         tutti_error *err)
{
    (void)host;
    to_float *t = calloc(1, sizeof *t);
    if (!t)
        return tutti_fail(err, TUTTI_E_NOMEM, "to_float: no memory");
    for (int k = 0; k < 256; k++)
        t->values[k] = (float)(k * tutti_param_f64(params, "max") / 255.0);
    *ret_self = t;
    return TUTTI_OK;
}

TRANSFORM_PLUGIN(to_float, open, infer, apply)
