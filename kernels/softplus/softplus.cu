/* softplus.cu - log(1 + exp(x)) on the GPU. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/cuda/elementwise.cuh"
#include "softplus/softplus.h"

CUDA_UNARY(softplus);
