/* flip.cu - axes in reverse order, on the GPU. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/cuda/strided.cuh"

CUDA_STRIDED(flip);
