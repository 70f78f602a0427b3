/* sub.cu - a - b, on the GPU. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/cuda/elementwise.cuh"
#include "sub/sub.h"

CUDA_BINARY(sub);
