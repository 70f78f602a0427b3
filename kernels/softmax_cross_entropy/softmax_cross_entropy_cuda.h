/* softmax_cross_entropy_cuda.h - what its device functions take. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_SOFTMAX_CROSS_ENTROPY_CUDA_H
#define KERNELS_SOFTMAX_CROSS_ENTROPY_CUDA_H

#include "common/cuda/tensor.h"

/* Threads of a block that has a row of a gradient to itself, and the bytes of a row that it keeps at most, so that two
 * blocks fit on a multiprocessor of 228 KiB.  Sums depend on the threads, not on what is kept. */
enum { XENT_GRAD_BLOCK = 512, XENT_KEPT_MOST = 112 << 10 };

typedef struct xent_cuda_args {
    cuda_tensor logits, target; /* target: classes or weights */
    cuda_tensor dloss;          /* of the gradient */
    cuda_tensor out;            /* the loss, or the gradient by the logits */
    cuda_tensor loss;           /* beside the gradient */
    int64_t rows, n, ignored;
    int64_t pitch; /* from one row of logits to the next, at least n */
    uint32_t *fault;
    uint32_t mark;
    int32_t soft;  /* the targets are weights */
    int32_t whole; /* a row is a block's */
    int32_t reserved;
} xent_cuda_args;

#endif
