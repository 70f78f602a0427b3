/* sum_to.cu - sum of what broadcasting had repeated, on the GPU. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/cuda/reduce.cuh"

CUDA_REDUCE(sum_to, cuda_sum);
