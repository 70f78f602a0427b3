/* plugin.c - to_float: u8 images as f32. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../transform_plugin.h"
#include "bytes.h"

typedef struct to_float {
    float values[256]; /* of every byte */
    double max;
    batch_kernel kernel;
} to_float;

static int is_bytes(const tutti_desc *d)
{
    return d->rank == 3 && d->dtype == TUTTI_U8;
}

static tutti_status to_float_infer(void *self, tutti_column *columns, uint32_t ncolumns,
                                   tutti_error *err)
{
    (void)self, (void)err;
    for (uint32_t k = 0; k < ncolumns; k++)
        if (is_bytes(&columns[k].desc))
            columns[k].desc.dtype = TUTTI_F32;
    return TUTTI_OK;
}

static int32_t to_float_apply(void *self, const tutti_sample *sample, uint32_t k,
                              const tutti_tensor *in, tutti_tensor *out, tutti_error *err)
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

/* The manifest's kernel. */
TUTTI_EXPORT void to_float_cpu(const uint8_t *x, float *y, double max, int64_t n);

void to_float_cpu(const uint8_t *x, float *y, double max, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        y[i] = byte_value(x[i], max);
}

static int32_t to_float_apply_batch(void *self, const tutti_samples *samples, uint32_t k,
                                    const tutti_tensor *in, tutti_tensor *out, tutti_error *err)
{
    to_float *t = self;
    (void)samples, (void)k;
    if (in->desc.rank != 4 || in->desc.dtype != TUTTI_U8)
        return 0;
    const void *x = in->data;
    int64_t n = tutti_numel(&in->desc);
    void *const args[] = {&x, &out->data, &t->max, &n};
    out->desc = in->desc;
    out->desc.dtype = TUTTI_F32;
    return batch_launch(&t->kernel, "to_float", x, args, sizeof args / sizeof *args, err);
}

static tutti_status to_float_open(const tutti_host *host, const tutti_params *params,
                                  void **ret_self, tutti_error *err)
{
    to_float *t = calloc(1, sizeof *t);
    if (!t)
        return tutti_fail(err, TUTTI_E_NOMEM, "to_float: no memory");
    t->kernel = batch_kernel_find(host, "to_float");
    t->max = tutti_param_f64(params, "max");
    for (int k = 0; k < 256; k++)
        t->values[k] = byte_value(k, t->max);
    *ret_self = t;
    return TUTTI_OK;
}

TRANSFORM_PLUGIN(to_float, to_float_open, to_float_infer, to_float_apply, to_float_apply_batch);
