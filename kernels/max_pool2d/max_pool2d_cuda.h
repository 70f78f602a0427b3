/* max_pool2d_cuda.h - what the device functions take. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_MAX_POOL2D_MAX_POOL2D_CUDA_H
#define KERNELS_MAX_POOL2D_MAX_POOL2D_CUDA_H

#include "common/cuda/tensor.h"
#include "common/pool_geometry.h"

typedef struct max_pool2d_cuda_args {
    cuda_tensor from, to; /* x and y; of the gradient dy and dx */
    int32_t *index;       /* written by max_pool2d, read by the others */
    uint32_t *fault;
    uint32_t mark;
    uint32_t reserved;
    pool_geometry geometry;
} max_pool2d_cuda_args;

#endif
