/* concat.cu - tensors one behind the other along an axis, on the GPU. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/cuda/strided.cuh"

CUDA_STRIDED(concat);
