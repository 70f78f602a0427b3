/* index.cuh - operands of whole numbers that name places, and those that name none. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_COMMON_CUDA_INDEX_CUH
#define KERNELS_COMMON_CUDA_INDEX_CUH

#include "common/cuda/device.cuh"

/* Element k of an operand of I32 or I64. */
__device__ static inline int64_t cuda_index_at(const cuda_tensor &t, int64_t k)
{
    return t.dtype == TUTTI_I32 ? static_cast<const int32_t *>(t.data)[k]
                                : static_cast<const int64_t *>(t.data)[k];
}

/* Whether k is in [0, n); where not, the host is told. */
__device__ static inline bool cuda_index_within(int64_t k, int64_t n, uint32_t *fault,
                                                uint32_t mark)
{
    if (k >= 0 && k < n)
        return true;
    *fault = mark;
    return false;
}

#endif
