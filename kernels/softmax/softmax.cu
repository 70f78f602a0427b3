/* softmax.cu - exp(x) / sum exp(x) on the GPU. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/cuda/softmax.cuh"

__device__ static inline float probability(float x, float max, float sum)
{
    return expf(x - softmax_shift(max)) / sum;
}

CUDA_SOFTMAX(softmax, probability);
