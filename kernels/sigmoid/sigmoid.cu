/* sigmoid.cu - 1 / (1 + exp(-x)), and its gradient, on the GPU. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/cuda/elementwise.cuh"
#include "sigmoid/sigmoid.h"

CUDA_UNARY(sigmoid);
CUDA_BINARY(sigmoid_grad);
