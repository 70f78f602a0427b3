/* add.cu - a + b, on the GPU. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "add/add.h"
#include "common/cuda/elementwise.cuh"

CUDA_BINARY(add);
