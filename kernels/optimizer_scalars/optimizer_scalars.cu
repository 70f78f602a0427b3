/* optimizer_scalars.cu - the numbers around an update, on the GPU. */
/* SPDX-License-Identifier: Apache-2.0 */
#define TUTTI_USE_MINOR 1 /* TUTTI_UPDATE_NORM */
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

/* Thread 0 gets the sum of all lanes: neighbours half the rest away, as the CPU adds them. */
__device__ static double sum_of_lanes(double *lanes, double mine)
{
    lanes[threadIdx.x] = mine;
    for (unsigned half = GRADIENT_LANES / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half)
            lanes[threadIdx.x] += lanes[threadIdx.x + half];
    }
    __syncthreads();
    const double sum = lanes[0];
    __syncthreads();
    return sum;
}

CUDA_KERNEL(gradient_squares_cuda)(const float *g, double *parts, int64_t n)
{
    CUDA_SHARED(double, lanes, GRADIENT_LANES);
    const int64_t pieces = optimizer_scalars_pieces(n);
    for (int64_t p = blockIdx.x; p < pieces; p += gridDim.x) {
        const int64_t at = p * GRADIENT_PIECE;
        const int64_t end = at + GRADIENT_PIECE < n ? at + GRADIENT_PIECE : n;
        double mine = 0.0;
        for (int64_t k = at + threadIdx.x; k < end; k += GRADIENT_LANES)
            mine += optimizer_scalars_square(g[k]);
        const double sum = sum_of_lanes(lanes, mine);
        if (threadIdx.x == 0)
            parts[p] = sum;
    }
}
CUDA_ENTRY(gradient_squares_cuda);

CUDA_KERNEL(gradient_norm_cuda)
(const double *parts, double *numbers, int64_t pieces, int64_t groups)
{
    CUDA_SHARED(double, lanes, GRADIENT_LANES);
    double mine = 0.0;
    for (int64_t k = threadIdx.x; k < pieces; k += GRADIENT_LANES)
        mine += parts[k];
    const double sum = sum_of_lanes(lanes, mine);
    if (threadIdx.x == 0)
        optimizer_scalars_norm(sum, numbers, groups);
}
CUDA_ENTRY(gradient_norm_cuda);
