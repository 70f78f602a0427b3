/* optimizer_scalars.cu - the numbers around an update, on the GPU. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/cuda/device.cuh"
#include "optimizer_scalars/optimizer_scalars.h"

/* This thread's numbers times `factor`; whether one of them is not finite then. */
__device__ static bool scaled_is_bad(float *g, float factor, int64_t n)
{
    bool bad = false;
    CUDA_EACH(k, n)
    {
        g[k] *= factor;
        uint32_t bits;
        memcpy(&bits, &g[k], sizeof bits);
        bad = bad || optimizer_scalars_is_bad(bits);
    }
    return bad;
}

CUDA_KERNEL(unscale_cuda)(float *g, double *scaler, int64_t n)
{
    if (scaled_is_bad(g, optimizer_scalars_unscale(scaler), n))
        scaler[TUTTI_SCALER_FOUND] = 1.0; /* whoever writes writes the same */
}
CUDA_ENTRY(unscale_cuda);

CUDA_KERNEL(scale_by_cuda)(float *g, const float *factor, int64_t n)
{
    const float by = *factor;
    CUDA_EACH(k, n)
    {
        g[k] *= by;
    }
}
CUDA_ENTRY(scale_by_cuda);

CUDA_KERNEL(scale_checked_cuda)(float *g, const float *factor, float *found, int64_t n)
{
    if (scaled_is_bad(g, *factor, n))
        *found = 1.0f; /* whoever writes writes the same */
}
CUDA_ENTRY(scale_checked_cuda);

CUDA_KERNEL(loss_scale_cuda)(const double *scaler, const double *weight, float *scale)
{
    *scale = optimizer_scalars_loss_scale(scaler, *weight);
}
CUDA_ENTRY(loss_scale_cuda);

CUDA_KERNEL(next_update_cuda)
(const double *lrs, float *factor, double *scaler, double *numbers, int64_t groups)
{
    optimizer_scalars_next(lrs, factor, scaler, numbers, groups);
}
CUDA_ENTRY(next_update_cuda);
