/* slice.cu - part of x along each axis, and its gradient, on the GPU. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/cuda/strided.cuh"
#include "common/cuda/window.cuh"

CUDA_STRIDED(slice);
CUDA_WINDOW(slice_grad);
