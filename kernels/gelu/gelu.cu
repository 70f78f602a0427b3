/* gelu.cu - the Gaussian error linear unit, and its gradient, on the GPU. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/cuda/elementwise.cuh"
#include "gelu/gelu.h"

CUDA_UNARY_ATTR(gelu, gelu_attr);
CUDA_BINARY_ATTR(gelu_grad, gelu_attr);
