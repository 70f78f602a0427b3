/* cmp.cu - comparisons of two numbers, on the GPU. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cmp/cmp.h"
#include "common/cuda/elementwise.cuh"

CUDA_BINARY_ATTR(cmp, cmp_attr);
