/* log_softmax.cu - x - log sum exp(x) on the GPU. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/cuda/softmax.cuh"

__device__ static inline float log_probability(float x, float max, float sum)
{
    return (x - max) - logf(sum);
}

CUDA_SOFTMAX(log_softmax, log_probability);
