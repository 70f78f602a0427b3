/* squares_cuda.h - the kernel "squares" on a GPU, and what others sum with: a block of 256 threads. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_SQUARES_CUDA_H
#define PLUGIN_SQUARES_CUDA_H

#include "squares_sum.h"

/* Every thread gets the sum of all lanes, whose memory may then be used again. */
static inline __device__ double squares_pair(double *lanes, double mine)
{
    lanes[threadIdx.x] = mine;
    for (unsigned half = SQUARES_LANES / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half)
            lanes[threadIdx.x] += lanes[threadIdx.x + half];
    }
    __syncthreads();
    const double sum = lanes[0];
    __syncthreads();
    return sum;
}

static inline __device__ double squares_of(double *lanes, const float *x, const float *less,
                                           int64_t n)
{
    double mine = 0.0;
    for (int64_t k = threadIdx.x; k < n; k += SQUARES_LANES)
        mine += squares_term(x[k], less ? less[k] : 0.0f);
    return squares_pair(lanes, mine);
}

static inline __device__ double squares_total(double *lanes, const double *parts, int64_t n)
{
    double mine = 0.0;
    for (int64_t k = threadIdx.x; k < n; k += SQUARES_LANES)
        mine += parts[k];
    return squares_pair(lanes, mine);
}

TUTTI_KERNEL(squares_cuda)
(const float *x, const float *less, const int64_t *table, double *parts, int64_t pieces,
 int64_t threads)
{
    TUTTI_BLOCK(double, lanes, SQUARES_LANES);
    for (int64_t p = blockIdx.x; p < pieces; p += gridDim.x) {
        const int64_t at = table[2 * p], n = table[2 * p + 1];
        const double sum = squares_of(lanes, x + at, less ? less + at : less, n);
        if (threadIdx.x == 0)
            parts[p] = sum;
    }
}
TUTTI_KERNEL_ENTRY(squares_cuda);

#endif
