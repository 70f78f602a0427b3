/* plugin.c - gaussian_noise: normal noise added to images. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../transform_plugin.h"
#include "noise.h"

static tutti_status gaussian_noise_infer(void *self, tutti_column *columns, uint32_t ncolumns,
                                         tutti_error *err)
{
    (void)self, (void)columns, (void)ncolumns, (void)err;
    return TUTTI_OK;
}

typedef struct noise_setting {
    double p;
    noise noise;
} noise_setting;

static void noise_values(const noise *n, const tutti_tensor *in, int64_t i, float normal,
                         void *out)
{
    if (in->desc.dtype == TUTTI_F32)
        ((float *)out)[i] = noise_f32(n, ((const float *)in->data)[i], normal);
    else
        ((uint8_t *)out)[i] = noise_byte(n, ((const uint8_t *)in->data)[i], normal);
}

static int32_t gaussian_noise_apply(void *self, const tutti_sample *sample, uint32_t k,
                                    const tutti_tensor *in, tutti_tensor *out, tutti_error *err)
{
    const noise_setting *set = self;
    const noise *n = &set->noise;
    const tutti_desc *d = &in->desc;
    const int64_t count = d->rank == 3 ? d->dim[0] * d->dim[1] * d->dim[2] : 0;
    (void)k, (void)err;
    if (!is_image(d))
        return 0;
    tutti_stream chance = sample_stream(sample, "gaussian_noise.p");
    if (tutti_stream_uniform(&chance) >= set->p)
        return 0;
    tutti_stream r = sample_stream(sample, "gaussian_noise");
    out->desc = *d;
    for (int64_t i = 0; i < count; i += 2) {
        tutti_rng4 words;
        double normal[2];
        for (int j = 0; j < 4; j++)
            words.v[j] = tutti_stream_u32(&r);
        tutti_normal_f64(words, &normal[0], &normal[1]);
        for (int64_t j = i; j < i + 2 && j < count; j++)
            noise_values(n, in, j, (float)normal[j - i], out->data);
    }
    return 1;
}

static tutti_status gaussian_noise_open(const tutti_host *host, const tutti_params *params,
                                        void **ret_self, tutti_error *err)
{
    noise_setting *n = calloc(1, sizeof *n);
    (void)host;
    if (!n)
        return tutti_fail(err, TUTTI_E_NOMEM, "gaussian_noise: no memory");
    n->p = tutti_param_f64(params, "p");
    n->noise.mean = tutti_param_f64(params, "mean");
    n->noise.sigma = tutti_param_f64(params, "sigma");
    n->noise.clip = (int32_t)tutti_param_i64(params, "clip");
    *ret_self = n;
    return TUTTI_OK;
}

TRANSFORM_PLUGIN(gaussian_noise, gaussian_noise_open, gaussian_noise_infer,
                 gaussian_noise_apply, NULL);
