/* layer_norm_cuda.h - what layer_norm's device functions take. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_LAYER_NORM_LAYER_NORM_CUDA_H
#define KERNELS_LAYER_NORM_LAYER_NORM_CUDA_H

#include "common/cuda/columns.h"
#include "common/cuda/tensor.h"

/* Tensors that a function does not use are zero. */
typedef struct layer_norm_cuda_args {
    cuda_tensor x, dy, gamma, beta;
    cuda_tensor y; /* of the gradient: dx */
    cuda_tensor mean, rstd;
    cuda_tensor more; /* of the gradient: added to dx; without data: nothing */
    cuda_tensor dgamma, dbeta;
    cuda_tensor low; /* y once more; without data: not */
    int64_t rows, n;
    float *partials; /* (parts, 2, C): sums for gamma and beta */
    cuda_columns sums;
    int32_t parts;
    int32_t whole; /* a row is a block's */
    float eps;
    int32_t reserved;
} layer_norm_cuda_args;

/* A row of up to this many times 256 elements, a multiple of 8, stays in a warp's registers. */
enum { LAYER_NORM_HELD = 8, LAYER_NORM_GRAD_HELD = 4 };

/* Threads of a block of the gradient whose rows are held.  Two blocks fit on a multiprocessor with the 168 registers a
 * thread that x, dy, what is added and two sums take for rows of 768; of those for rows of 1024 one does. */
enum { LAYER_NORM_GRAD_BLOCK = 192, LAYER_NORM_GRAD_BLOCK_4 = 256 };

#endif
