/* clip.cu - gradients made smaller on a GPU. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../norm_cuda.h"
#include "clip.h"

TUTTI_KERNEL(clip_scale_cuda)(float *x, const float *factor, int64_t n)
{
    const float f = *factor;
    if (f == 1.0f)
        return;
    TUTTI_EACH(k, n)
    {
        x[k] *= f;
    }
}
TUTTI_KERNEL_ENTRY(clip_scale_cuda);

TUTTI_KERNEL(clip_value_cuda)(float *g, float limit, int64_t n)
{
    TUTTI_EACH(k, n)
    {
        g[k] = clip_value(g[k], limit);
    }
}
TUTTI_KERNEL_ENTRY(clip_value_cuda);

/* A block a unit. */
TUTTI_KERNEL(clip_units_cuda)
(const float *w, float *g, const int64_t *table, int64_t units, double threshold,
 int64_t threads)
{
    TUTTI_BLOCK(double, lanes, SQUARES_LANES);
    for (int64_t u = blockIdx.x; u < units; u += gridDim.x) {
        const int64_t at = table[2 * u], n = table[2 * u + 1];
        const double weight = squares_of(lanes, w + at, nullptr, n);
        const double ratio =
            clip_ratio(weight, squares_of(lanes, g + at, nullptr, n), threshold);
        for (int64_t k = threadIdx.x; ratio < 1.0 && k < n; k += SQUARES_LANES)
            g[at + k] *= (float)ratio;
    }
}
TUTTI_KERNEL_ENTRY(clip_units_cuda);
