/* erf.cu - the error function, on the GPU. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/cuda/elementwise.cuh"
#include "erf/erf.h"

CUDA_UNARY(erf);
