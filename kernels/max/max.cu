/* max.cu - the greater of two, on the GPU. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/cuda/elementwise.cuh"
#include "max/max.h"

CUDA_BINARY(max);
