/* abs.cu - the absolute value, on the GPU. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "abs/abs.h"
#include "common/cuda/elementwise.cuh"

CUDA_UNARY(abs);
