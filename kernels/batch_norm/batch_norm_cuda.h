/* batch_norm_cuda.h - what batch_norm's device functions take. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_BATCH_NORM_BATCH_NORM_CUDA_H
#define KERNELS_BATCH_NORM_BATCH_NORM_CUDA_H

#include "common/cuda/columns.h"
#include "common/cuda/tensor.h"

/* Blocks of 256 threads that a multiprocessor holds: of kernels in BF16, whose loads are packed; of others,
 * and of those that know too much of each channel. */
enum { BATCH_NORM_BLOCKS_BF16 = 4, BATCH_NORM_BLOCKS = 3 };

/* Tensors that a function does not use are zero. */
typedef struct batch_norm_cuda_args {
    cuda_tensor x, dy, gamma, beta, residual; /* residual.data is NULL without one */
    cuda_tensor old_mean, old_var;            /* of eval: what is normalised by */
    cuda_tensor y;                            /* of the gradient: dx */
    cuda_tensor mean, invstd, new_mean, new_var;
    cuda_tensor dgamma, dbeta;
    double *totals;  /* of batch_norm_across.h; NULL: none */
    float *partials; /* (parts, 2, C) */
    float *scale;    /* (C); of the gradient (3, C): factors of dy, of x - mean, and the rest */
    double eps, momentum, unbiased; /* unbiased: N / (N - 1) */
    cuda_columns sums, apply;       /* of the sums and of the last pass */
    int64_t act;
} batch_norm_cuda_args;

#endif
