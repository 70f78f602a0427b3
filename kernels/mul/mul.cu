/* mul.cu - a b, on the GPU. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/cuda/elementwise.cuh"
#include "mul/mul.h"

CUDA_BINARY(mul);
