/* convert.cuh - a copy between F32, BF16 and F16, for what a library does not convert itself. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_COMMON_CUDA_CONVERT_CUH
#define KERNELS_COMMON_CUDA_CONVERT_CUH

#include "common/cuda/device.cuh"

#define CUDA_CONVERT(folder)                                                                   \
    CUDA_KERNEL(folder##_convert_cuda)(cuda_tensor from, cuda_tensor to, int64_t n)            \
    {                                                                                          \
        CUDA_EACH(k, n)                                                                        \
        {                                                                                      \
            cuda_set(to, k, cuda_get(from, k));                                                \
        }                                                                                      \
    }                                                                                          \
    CUDA_ENTRY(folder##_convert_cuda)

#endif
