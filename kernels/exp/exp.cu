/* exp.cu - e to the power x, on the GPU. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/cuda/elementwise.cuh"
#include "exp/exp.h"

CUDA_UNARY(exp);
