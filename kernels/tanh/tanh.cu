/* tanh.cu - the hyperbolic tangent, and its gradient, on the GPU. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/cuda/elementwise.cuh"
#include "tanh/tanh.h"

CUDA_UNARY(tanh);
CUDA_BINARY(tanh_grad);
