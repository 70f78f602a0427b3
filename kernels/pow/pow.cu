/* pow.cu - a to the power b, on the GPU. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/cuda/elementwise.cuh"
#include "pow/pow.h"

CUDA_BINARY(pow);
