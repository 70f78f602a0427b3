/* sdpa_cuda.h - what attention's device functions take. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_SDPA_SDPA_CUDA_H
#define KERNELS_SDPA_SDPA_CUDA_H

#include "common/cuda/tensor.h"
#include "sdpa/sdpa_shape.h"

/* A block has tiles of SDPA_SIDE queries and keys.  How many threads it has, and floats of shared memory
 * for C columns of results, tells the two ways of sdpa_tile.cuh; the bias of a tile comes behind. */
enum { SDPA_SIDE = 64, SDPA_FMA_BLOCK = 256, SDPA_MMA_BLOCK = 128 };
enum { SDPA_BIAS_ROOM = SDPA_SIDE * (SDPA_SIDE + 1) };
enum {
    SDPA_DROP_ROOM = SDPA_SIDE * SDPA_SIDE / 32
}; /* a bit for each probability, behind that */
#define SDPA_FMA_ROOM(C) (SDPA_SIDE * (C) + SDPA_SIDE * (SDPA_SIDE + 4))
#define SDPA_MMA_ROOM(C) (2 * SDPA_SIDE * (SDPA_SIDE + 8) / 2) /* C is at most 128 */

/* Tensors that a function does not use are zero; bias.data is NULL without one. */
typedef struct sdpa_cuda_args {
    cuda_tensor q, k, v, bias, y, lse, dy, dq, dk, dv;
    const struct tutti_step *step;
    float *delta; /* (B, H, Tq): sum of dy y over a row */
    sdpa_shape s;
    int64_t chunks; /* of C results of D, each some blocks' */
    float scale, keep;
    int32_t wide; /* all rows begin at a multiple of 8 elements, and D is one */
} sdpa_cuda_args;

/* mask[k] = one or zero: whether the probability of `samples` samples from `first` on is kept.  Behind a
 * causal query all are zero.  Tk is a multiple of 8. */
typedef struct sdpa_mask_args {
    const struct tutti_step *step;
    uint16_t *mask;
    sdpa_shape s;
    int64_t first, samples;
    uint32_t one; /* 1 in the mask's dtype */
    uint32_t reserved;
} sdpa_mask_args;

#endif
