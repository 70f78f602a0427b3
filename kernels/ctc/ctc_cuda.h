/* ctc_cuda.h - what both device functions take. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_CTC_CTC_CUDA_H
#define KERNELS_CTC_CTC_CUDA_H

#include "common/cuda/tensor.h"
#include "ctc/ctc.h"

typedef struct ctc_cuda_args {
    ctc_shape s;
    cuda_tensor logits;
    cuda_tensor target;  /* I32 or I64 */
    cuda_tensor lengths; /* data NULL: all steps count */
    cuda_tensor dloss;   /* of the gradient */
    cuda_tensor out;     /* the losses, or the gradient */
    double *workspace;   /* (B, ctc_workspace) */
    uint32_t *fault;
    uint32_t mark;
    int32_t reserved;
} ctc_cuda_args;

#endif
