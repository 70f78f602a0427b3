/* relu.cu - max(x, 0), and its gradient from the output, on the GPU. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/cuda/elementwise.cuh"
#include "relu/relu.h"

CUDA_UNARY(relu);
CUDA_BINARY(relu_grad);
