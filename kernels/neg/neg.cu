/* neg.cu - the negative, on the GPU. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/cuda/elementwise.cuh"
#include "neg/neg.h"

CUDA_UNARY(neg);
