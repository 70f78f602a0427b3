/* plugin.c - normalize: (x / 255 - mean) / std, a channel at a time. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../transform_plugin.h"
#include "channels.h"
#include "normalize_bytes.h"

enum { MAX_CHANNELS = 64 };

/* y = scale x + shift, where x is a value of 0 to 1 or a byte. */
typedef struct normalize {
    uint32_t n;
    float scale[MAX_CHANNELS];
    float byte_scale[MAX_CHANNELS];
    float shift[MAX_CHANNELS];
    batch_kernel of_bytes;
    batch_kernel of_floats;
} normalize;

static tutti_status normalize_infer(void *self, tutti_column *columns, uint32_t ncolumns,
                                    tutti_error *err)
{
    const normalize *m = self;
    for (uint32_t k = 0; k < ncolumns; k++) {
        if (!is_image(&columns[k].desc))
            continue;
        if (columns[k].desc.dim[2] != m->n)
            return tutti_fail(err, TUTTI_E_SHAPE,
                              "normalize: column %s has %lld channels, mean and std have %u",
                              columns[k].name, (long long)columns[k].desc.dim[2], m->n);
        columns[k].desc.dtype = TUTTI_F32;
    }
    return TUTTI_OK;
}

static void normalize_of_floats(const float *x, float *y, int64_t values, uint32_t n,
                                const float *scale, const float *shift)
{
    for (int64_t i = 0; i < values; i += n)
        for (uint32_t c = 0; c < n; c++)
            y[i + c] = scale[c] * x[i + c] + shift[c];
}

static int32_t normalize_apply(void *self, const tutti_sample *sample, uint32_t k,
                               const tutti_tensor *in, tutti_tensor *out, tutti_error *err)
{
    const normalize *m = self;
    (void)sample, (void)k, (void)err;
    if (!is_image(&in->desc))
        return 0;
    const int64_t values = tutti_numel(&in->desc);
    out->desc = in->desc;
    out->desc.dtype = TUTTI_F32;
    if (in->desc.dtype != TUTTI_U8) {
        normalize_of_floats(in->data, out->data, values, m->n, m->scale, m->shift);
        return 1;
    }
    TUTTI_ISA_PICK(normalize_bytes)
    (in->data, out->data, values, m->n, m->byte_scale, m->shift);
    return 1;
}

/* The manifest's kernels. */
TUTTI_EXPORT void normalize_bytes_cpu(const uint8_t *x, float *y, int64_t channels, float a0,
                                      float a1, float a2, float a3, float b0, float b1,
                                      float b2, float b3, int64_t n);
TUTTI_EXPORT void normalize_floats_cpu(const float *x, float *y, int64_t channels, float a0,
                                       float a1, float a2, float a3, float b0, float b1,
                                       float b2, float b3, int64_t n);

void normalize_bytes_cpu(const uint8_t *x, float *y, int64_t channels, float a0, float a1,
                         float a2, float a3, float b0, float b1, float b2, float b3, int64_t n)
{
    const channels_line line = {{a0, a1, a2, a3}, {b0, b1, b2, b3}};
    TUTTI_ISA_PICK(normalize_bytes)(x, y, n, (uint32_t)channels, line.scale, line.shift);
}

void normalize_floats_cpu(const float *x, float *y, int64_t channels, float a0, float a1,
                          float a2, float a3, float b0, float b1, float b2, float b3, int64_t n)
{
    const channels_line line = {{a0, a1, a2, a3}, {b0, b1, b2, b3}};
    normalize_of_floats(x, y, n, (uint32_t)channels, line.scale, line.shift);
}

static int32_t normalize_apply_batch(void *self, const tutti_samples *samples, uint32_t k,
                                     const tutti_tensor *in, tutti_tensor *out,
                                     tutti_error *err)
{
    normalize *m = self;
    const int of_bytes = in->desc.dtype == TUTTI_U8;
    (void)samples, (void)k;
    if (!is_image_batch(&in->desc))
        return 0;
    if (m->n > FEW_CHANNELS)
        return tutti_fail(err, TUTTI_E_UNSUPPORTED,
                          "normalize has a kernel for %d channels at most, not for %u",
                          FEW_CHANNELS, m->n);
    const void *x = in->data;
    int64_t channels = m->n, n = tutti_numel(&in->desc);
    float *a = of_bytes ? m->byte_scale : m->scale, *b = m->shift;
    void *const args[] = {&x,    &out->data, &channels, &a[0], &a[1], &a[2],
                          &a[3], &b[0],      &b[1],     &b[2], &b[3], &n};
    out->desc = in->desc;
    out->desc.dtype = TUTTI_F32;
    return batch_launch(of_bytes ? &m->of_bytes : &m->of_floats, "normalize", x, args,
                        sizeof args / sizeof *args, err);
}

static tutti_status normalize_open(const tutti_host *host, const tutti_params *params,
                                   void **ret_self, tutti_error *err)
{
    const tutti_param *mean = tutti_param_find(params, "mean");
    const tutti_param *std = tutti_param_find(params, "std");
    if (mean->count != std->count)
        return tutti_fail(err, TUTTI_E_ARG, "normalize: mean has %llu entries and std %llu",
                          (unsigned long long)mean->count, (unsigned long long)std->count);
    normalize *m = calloc(1, sizeof *m);
    if (!m)
        return tutti_fail(err, TUTTI_E_NOMEM, "normalize: no memory");
    m->of_bytes = batch_kernel_find(host, "normalize_bytes");
    m->of_floats = batch_kernel_find(host, "normalize_floats");
    m->n = (uint32_t)mean->count;
    for (uint32_t k = 0; k < m->n; k++) {
        m->scale[k] = (float)(1.0 / std->items[k]->f);
        m->byte_scale[k] = (float)(1.0 / (255.0 * std->items[k]->f));
        m->shift[k] = (float)(-mean->items[k]->f / std->items[k]->f);
    }
    *ret_self = m;
    return TUTTI_OK;
}

TRANSFORM_PLUGIN(normalize, normalize_open, normalize_infer, normalize_apply,
                 normalize_apply_batch);
