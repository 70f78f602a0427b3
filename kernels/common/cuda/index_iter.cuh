/* index_iter.cuh - index iterator: the offset of an element in up to three operands, on the device. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_COMMON_CUDA_INDEX_ITER_CUH
#define KERNELS_COMMON_CUDA_INDEX_ITER_CUH

#include "common/cuda/device.cuh"
#include "common/cuda/index_iter.h"

__device__ static inline int64_t cuda_divide(int64_t k, const cuda_divisor &by, int wide)
{
    if (wide)
        return k / by.d;
    const uint32_t n = (uint32_t)k, high = (uint32_t)((uint64_t)n * by.magic >> 32);
    return (high + n) >> by.shift;
}

/* at[j] = where operand j has element k. */
template <int N>
__device__ static inline void cuda_index_iter_find(const cuda_index_iter &w, int64_t k,
                                                   int64_t (&at)[N])
{
    for (int j = 0; j < N; j++)
        at[j] = 0;
    for (int32_t d = w.rank - 1; d > 0; d--) {
        const int64_t up = cuda_divide(k, w.dim[d], w.wide), here = k - up * w.dim[d].d;
        for (int j = 0; j < N; j++)
            at[j] += here * w.stride[j][d];
        k = up;
    }
    for (int j = 0; j < N; j++)
        at[j] += k * w.stride[j][0];
}

__device__ static inline int64_t cuda_index_iter_at(const cuda_index_iter &w, int64_t k)
{
    int64_t at[1];
    cuda_index_iter_find(w, k, at);
    return at[0];
}

#endif
