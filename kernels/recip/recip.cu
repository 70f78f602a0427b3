/* recip.cu - 1 / x, on the GPU. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/cuda/elementwise.cuh"
#include "recip/recip.h"

CUDA_UNARY(recip);
