/* max_reduce.cu - the greatest element over axes, on the GPU. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/cuda/reduce.cuh"

CUDA_REDUCE(max_reduce, cuda_greatest);
