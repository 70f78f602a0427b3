/* mean.cu - mean over axes, on the GPU. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/cuda/reduce.cuh"

CUDA_REDUCE(mean, cuda_sum);
