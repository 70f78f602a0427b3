/* broadcast_to.cu - x repeated to a shape, on the GPU. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/cuda/strided.cuh"

CUDA_STRIDED(broadcast_to);
