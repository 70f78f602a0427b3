/* pad.cu - elements of one value round x, on the GPU. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/cuda/window.cuh"

CUDA_WINDOW(pad);
