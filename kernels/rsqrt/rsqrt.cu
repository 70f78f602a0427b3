/* rsqrt.cu - 1 / sqrt(x), on the GPU. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/cuda/elementwise.cuh"
#include "rsqrt/rsqrt.h"

CUDA_UNARY(rsqrt);
