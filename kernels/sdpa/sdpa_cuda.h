/* sdpa_cuda.h - what attention's device functions take. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_SDPA_SDPA_CUDA_H
#define KERNELS_SDPA_SDPA_CUDA_H

#include "common/cuda/tensor.h"
#include "sdpa/sdpa_shape.h"

/* A block of SDPA_CUDA_BLOCK threads has tiles of SDPA_SIDE queries and keys, and SDPA_DEPTH of their
 * elements at once where rows are multiplied. */
enum { SDPA_CUDA_BLOCK = 256, SDPA_SIDE = 64, SDPA_DEPTH = 32, SDPA_PITCH = SDPA_SIDE + 4 };

/* Tensors that a function does not use are zero; bias.data is NULL without one. */
typedef struct sdpa_cuda_args {
    cuda_tensor q, k, v, bias, y, lse, dy, dq, dk, dv;
    float *delta; /* (B, H, Tq): sum of dy y over a row */
    sdpa_shape s;
    int64_t chunks; /* of `columns` results of D, each some blocks' */
    float scale;
    int32_t wide; /* all rows begin at a multiple of 8 elements, and D is one */
} sdpa_cuda_args;

#endif
