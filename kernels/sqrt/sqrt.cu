/* sqrt.cu - the square root, on the GPU. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/cuda/elementwise.cuh"
#include "sqrt/sqrt.h"

CUDA_UNARY(sqrt);
