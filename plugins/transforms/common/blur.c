/* blur.c - lines of a field blurred, then columns. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "blur.h"

#include <math.h>

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

void blur(float *x, int64_t h, int64_t w, int64_t c, const blur_kernel *k, float *scratch)
{
    double across[BLUR_LARGEST], down[BLUR_LARGEST];
    const int64_t line = w * c;
    blur_weights(k->size[0], k->sigma[0], across);
    blur_weights(k->size[1], k->sigma[1], down);
    for (int64_t i = 0; i < h * c; i++)
        blur_line(x + i / c * line + i % c, scratch + i / c * line + i % c, w, c, k->size[0],
                  across);
    for (int64_t i = 0; i < line; i++)
        blur_line(scratch + i, x + i, h, line, k->size[1], down);
}
