/* min.cu - the lesser of two, on the GPU. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/cuda/elementwise.cuh"
#include "min/min.h"

CUDA_BINARY(min);
