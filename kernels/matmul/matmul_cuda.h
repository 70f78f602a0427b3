/* matmul_cuda.h - what our own product kernel gets; the same for C and for device code. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_MATMUL_MATMUL_CUDA_H
#define KERNELS_MATMUL_MATMUL_CUDA_H

#include "tutti/tensor.h"

/* As matmul_shape: `count` products, whose batch dimensions are `dim` with strides in matrices. */
typedef struct matmul_cuda_shape {
    int64_t m, n, k;
    int64_t a_row, a_col;
    int64_t b_row, b_col;
    int64_t count;
    int64_t rank;
    int64_t dim[TUTTI_MAX_RANK], sa[TUTTI_MAX_RANK], sb[TUTTI_MAX_RANK];
} matmul_cuda_shape;

#endif
