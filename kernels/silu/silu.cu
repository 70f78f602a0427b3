/* silu.cu - x sigmoid(x), and its gradient, on the GPU. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/cuda/elementwise.cuh"
#include "silu/silu.h"

CUDA_UNARY(silu);
CUDA_BINARY(silu_grad);
