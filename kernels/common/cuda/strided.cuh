/* strided.cuh - device code of copies between dense tensors and strided views. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_COMMON_CUDA_STRIDED_CUH
#define KERNELS_COMMON_CUDA_STRIDED_CUH

#include "common/cuda/units.cuh"
#include "common/cuda/walk.cuh"

/* The walk leads through the view: `from`, or with `scatter` `to`; the other is dense. */
#define CUDA_STRIDED(op)                                                                       \
    CUDA_KERNEL(op##_cuda)                                                                     \
    (cuda_walk walk, cuda_tensor from, cuda_tensor to, int32_t unit, int32_t scatter)          \
    {                                                                                          \
        cuda_with_units(unit, from, to, [&](auto mover) {                                      \
            CUDA_EACH(k, walk.n)                                                               \
            {                                                                                  \
                const int64_t at = cuda_walk_at(walk, k);                                      \
                mover.set(scatter ? at : k, mover.get(scatter ? k : at));                      \
            }                                                                                  \
        });                                                                                    \
    }                                                                                          \
    CUDA_ENTRY(op##_cuda)

#endif
