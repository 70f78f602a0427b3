/* sum.cu - sum over axes, on the GPU. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/cuda/reduce.cuh"

CUDA_REDUCE(sum, cuda_sum);
