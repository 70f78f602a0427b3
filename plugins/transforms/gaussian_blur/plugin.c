/* plugin.c - gaussian_blur: a picture blurred by a Gaussian. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../common/picture_change.h"

typedef struct gaussian_blur {
    double p;
    int64_t size[2]; /* along x, along y */
    double sigma[2];
} gaussian_blur;

enum { LARGEST = 255 };

/* "kernel_size": one number is both. */
static void size_setting_named(const tutti_params *params, int64_t size[2])
{
    const tutti_param *p = tutti_param_find(params, "kernel_size");
    size[0] = p->items[0]->i;
    size[1] = p->items[p->count - 1]->i;
}

/* softmax(-(x / sigma)^2 / 2) over whole steps about 0 */
static void blur_weights(int64_t size, double sigma, double *weight)
{
    double sum = 0.0;
    for (int64_t k = 0; k < size; k++) {
        const double x = ((double)k - (double)(size - 1) / 2.0) / sigma;
        sum += weight[k] = exp(-0.5 * x * x);
    }
    for (int64_t k = 0; k < size; k++)
        weight[k] /= sum;
}

/* Beyond the edge the picture is mirrored, without its outermost pixel. */
static int64_t mirrored_place(int64_t at, int64_t n)
{
    at = at < 0 ? -at : at;
    return at < n ? at : 2 * (n - 1) - at;
}

/* n values, `step` apart, each the weighted sum of its neighbours. */
static void blur_line(const float *x, float *y, int64_t n, int64_t step, int64_t size,
                      const double *weight)
{
    for (int64_t k = 0; k < n; k++) {
        double sum = 0.0;
        for (int64_t j = 0; j < size; j++)
            sum += weight[j] * (double)x[mirrored_place(k + j - size / 2, n) * step];
        y[k * step] = (float)sum;
    }
}

static tutti_status read_settings(const tutti_params *params, gaussian_blur *t,
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

static void change_picture(const gaussian_blur *t, const picture *x, tutti_stream *r,
                           uint8_t *scratch)
{
    double across[LARGEST], down[LARGEST];
    float *from = (float *)(void *)scratch, *to = from + x->h * x->w * x->c;
    const double sigma = stream_between(r, t->sigma[0], t->sigma[1]);
    const int64_t line = x->w * x->c;
    if (t->size[0] / 2 >= x->w || t->size[1] / 2 >= x->h)
        return; /* there is nothing to mirror */
    blur_weights(t->size[0], sigma, across);
    blur_weights(t->size[1], sigma, down);
    for (int64_t i = 0; i < x->h * line; i++)
        from[i] = x->pixels[i];
    for (int64_t i = 0; i < x->h * x->c; i++)
        blur_line(from + i / x->c * line + i % x->c, to + i / x->c * line + i % x->c, x->w,
                  x->c, t->size[0], across);
    for (int64_t i = 0; i < line; i++)
        blur_line(to + i, from + i, x->h, line, t->size[1], down);
    for (int64_t i = 0; i < x->h * line; i++)
        x->pixels[i] = (uint8_t)rintf(from[i]);
}

PICTURE_CHANGE(gaussian_blur, gaussian_blur, 0, 8, read_settings, change_picture);
