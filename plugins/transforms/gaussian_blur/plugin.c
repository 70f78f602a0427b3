/* plugin.c - gaussian_blur: a picture blurred by a Gaussian. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../common/blur.h"
#include "../common/picture_change.h"

typedef struct gaussian_blur {
    double p;
    int64_t size[2]; /* along x, along y */
    double sigma[2];
} gaussian_blur;

/* "kernel_size": one number is both. */
static void size_setting_named(const tutti_params *params, int64_t size[2])
{
    const tutti_param *p = tutti_param_find(params, "kernel_size");
    size[0] = p->items[0]->i;
    size[1] = p->items[p->count - 1]->i;
}

static tutti_status gaussian_blur_read_settings(const tutti_params *params, gaussian_blur *t,
                                                tutti_error *err)
{
    size_setting_named(params, t->size);
    if (t->size[0] % 2 == 0 || t->size[1] % 2 == 0)
        return tutti_fail(err, TUTTI_E_ARG,
                          "gaussian_blur: kernel_size is %lld x %lld, want odd numbers",
                          (long long)t->size[0], (long long)t->size[1]);
    const tutti_status s = range_setting(params, "sigma", t->sigma, err);
    if (s)
        return s;
    return TUTTI_OK;
}

static void gaussian_blur_change(const gaussian_blur *t, const picture *x, tutti_stream *r,
                                 uint8_t *scratch)
{
    const int64_t n = x->h * x->w * x->c;
    float *values = (float *)(void *)scratch;
    const double sigma = stream_between(r, t->sigma[0], t->sigma[1]);
    const blur_kernel kernel = {{t->size[0], t->size[1]}, {sigma, sigma}};
    if (t->size[0] / 2 >= x->w || t->size[1] / 2 >= x->h)
        return; /* there is nothing to mirror */
    for (int64_t i = 0; i < n; i++)
        values[i] = x->pixels[i];
    blur(values, x->h, x->w, x->c, &kernel, values + n);
    for (int64_t i = 0; i < n; i++)
        x->pixels[i] = (uint8_t)rintf(values[i]);
}

PICTURE_CHANGE(gaussian_blur, gaussian_blur, 0, 8, gaussian_blur_read_settings,
               gaussian_blur_change);
