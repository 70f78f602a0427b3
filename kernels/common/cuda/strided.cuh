/* strided.cuh - device code of copies between dense tensors and strided views. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_COMMON_CUDA_STRIDED_CUH
#define KERNELS_COMMON_CUDA_STRIDED_CUH

#include "common/cuda/index_iter.cuh"
#include "common/cuda/vector_copy.cuh"

/* The iterator leads through the view: `from`, or with `scatter` `to`; the other is dense. */
#define CUDA_STRIDED(op)                                                                       \
    CUDA_KERNEL(op##_cuda)                                                                     \
    (cuda_index_iter iter, cuda_tensor from, cuda_tensor to, int32_t unit, int32_t scatter)    \
    {                                                                                          \
        cuda_with_vector_copy(unit, from, to, [&](auto mover) {                                \
            CUDA_EACH(k, iter.n)                                                               \
            {                                                                                  \
                const int64_t at = cuda_index_iter_at(iter, k);                                \
                mover.set(scatter ? at : k, mover.get(scatter ? k : at));                      \
            }                                                                                  \
        });                                                                                    \
    }                                                                                          \
    CUDA_ENTRY(op##_cuda)

#endif
