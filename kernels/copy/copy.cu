/* copy.cu - x itself, on the GPU. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/cuda/strided.cuh"

CUDA_STRIDED(copy);
