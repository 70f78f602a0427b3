/* elementwise.cuh - device code of whole unary operations from one function of maths. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_COMMON_CUDA_ELEMENTWISE_CUH
#define KERNELS_COMMON_CUDA_ELEMENTWISE_CUH

#include "common/cuda/device.cuh"

struct no_attr {
    char unused;
};

/* y[k] = <op>_f32 ARGS, where ARGS is (x) or (x, a). */
#define CUDA_UNARY_WITH(op, attr_type, ARGS)                                                   \
    CUDA_KERNEL(op##_cuda)(cuda_tensor from, cuda_tensor to, int64_t n, attr_type own)         \
    {                                                                                          \
        [[maybe_unused]] const attr_type *a = &own;                                            \
        CUDA_EACH(k, n)                                                                        \
        {                                                                                      \
            const float x = cuda_get(from, k);                                                 \
            cuda_set(to, k, op##_f32 ARGS);                                                    \
        }                                                                                      \
    }                                                                                          \
    CUDA_ENTRY(op##_cuda)

#define CUDA_UNARY(op) CUDA_UNARY_WITH(op, no_attr, (x))
#define CUDA_UNARY_ATTR(op, attr_type) CUDA_UNARY_WITH(op, attr_type, (x, a))

#endif
