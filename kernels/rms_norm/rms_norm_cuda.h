/* rms_norm_cuda.h - what rms_norm's device functions take. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_RMS_NORM_RMS_NORM_CUDA_H
#define KERNELS_RMS_NORM_RMS_NORM_CUDA_H

#include "common/cuda/columns.h"
#include "common/cuda/tensor.h"

/* Tensors that a function does not use are zero. */
typedef struct rms_norm_cuda_args {
    cuda_tensor x, dy, gamma;
    cuda_tensor y; /* of the gradient: dx */
    cuda_tensor rstd;
    cuda_tensor more; /* of the gradient: added to dx; without data: nothing */
    cuda_tensor dgamma;
    int64_t rows, n;
    float *partials; /* (parts, 2, C): sums for gamma, and zeros */
    cuda_columns sums;
    int32_t parts;
    int32_t whole; /* a row is a block's */
    float eps;
    int32_t reserved;
} rms_norm_cuda_args;

#endif
