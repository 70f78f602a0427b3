/* axpby.cu - a x + b y, on the GPU. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "axpby/axpby.h"
#include "common/cuda/elementwise.cuh"

CUDA_BINARY_ATTR(axpby, axpby_attr);
