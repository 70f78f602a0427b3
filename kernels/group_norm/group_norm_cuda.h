/* group_norm_cuda.h - what group_norm's device functions take. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_GROUP_NORM_GROUP_NORM_CUDA_H
#define KERNELS_GROUP_NORM_GROUP_NORM_CUDA_H

#include "common/cuda/columns.h"
#include "common/cuda/tensor.h"

/* Tensors that a function does not use are zero. */
typedef struct group_norm_cuda_args {
    cuda_tensor x, dy, gamma, beta;
    cuda_tensor y; /* of the gradient: dx */
    cuda_tensor dgamma, dbeta;
    int64_t rows; /* groups of all samples */
    int64_t pixels, channels, groups, width;
    float *statistics; /* (rows, 2): mean, rstd; of the gradient */
    float *partials;   /* sums for gamma and beta */
    cuda_columns sums;
    int32_t whole; /* a group is a block's, not a warp's */
    float eps;
} group_norm_cuda_args;

#endif
