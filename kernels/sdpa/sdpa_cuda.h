/* sdpa_cuda.h - what attention's device functions take. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_SDPA_SDPA_CUDA_H
#define KERNELS_SDPA_SDPA_CUDA_H

#include "common/cuda/tensor.h"
#include "sdpa/sdpa_shape.h"

/* A block has tiles of SDPA_SIDE queries or keys.  How many threads it has, and how much shared memory for C
 * columns of results, tells the two variants.  By FMA: floats, behind which come the bias of a tile and a bit for
 * each probability of it.  By tensor cores: bytes, of two tiles of SDPA_SIDE rows, which the forward pass has
 * one of, and two stages of two tiles of the other operands. */
enum { SDPA_SIDE = 64, SDPA_FMA_BLOCK = 256, SDPA_MMA_BLOCK = 128, SDPA_MMA_WIDEST = 128 };
enum {
    SDPA_BIAS_SIZE = SDPA_SIDE * (SDPA_SIDE + 1),
    SDPA_DROP_SIZE = SDPA_SIDE * SDPA_SIDE / 32
};
#define SDPA_FMA_SHARED(C) (SDPA_SIDE * (C) + SDPA_SIDE * (SDPA_SIDE + 4))
#define SDPA_ACROSS(C) ((C) > 64 ? 32 : 64) /* rows of the other operands in the gradient */
#define SDPA_MMA_BYTES(C) (2 * (C)*5 * SDPA_SIDE)
#define SDPA_MMA_GRAD_BYTES(C)                                                                 \
    (2 * (C) * (2 * SDPA_SIDE + 4 * SDPA_ACROSS(C)) + 16 * SDPA_ACROSS(C))

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
