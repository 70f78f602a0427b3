/* slot_sum.cu - x itself, on the GPU: what other slots have the host adds. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/cuda/strided.cuh"

CUDA_STRIDED(slot_sum);
