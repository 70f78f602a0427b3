/* tensor.h - a floating operand or result as kernels get it, for C and for device code. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_COMMON_CUDA_TENSOR_H
#define KERNELS_COMMON_CUDA_TENSOR_H

#include <stdint.h>

/* F32, BF16 or F16, each tensor by itself; 16 bytes. */
typedef struct cuda_tensor {
    void *data;
    int32_t dtype; /* TUTTI_F32, TUTTI_BF16 or TUTTI_F16; kernels may allow more */
    int32_t reserved;
} cuda_tensor;

#endif
