/* clamp.cu - x kept within [min, max], on the GPU. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "clamp/clamp.h"
#include "common/cuda/elementwise.cuh"

CUDA_UNARY_ATTR(clamp, clamp_attr);
