/* log.cu - the natural logarithm, on the GPU. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/cuda/elementwise.cuh"
#include "log/log.h"

CUDA_UNARY(log);
