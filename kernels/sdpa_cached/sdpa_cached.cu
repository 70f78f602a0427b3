/* sdpa_cached.cu - attention of new tokens to a cache on the GPU: a warp for each query of each head. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/cuda/index.cuh"
#include "sdpa_cached/sdpa_cached.h"

enum { LANES = 32, EACH = SDPA_CACHED_WIDTH / LANES };

/* Each lane has the elements lane, lane + 32, ... of a row, in registers: loops over them have a fixed length.  The softmax runs: what is summed so far shrinks when a
 * score is greater than all before. */
CUDA_KERNEL(sdpa_cached_cuda)
(sdpa_cached_shape s, cuda_tensor q, cuda_tensor k, cuda_tensor v, cuda_tensor position,
 cuda_tensor bias, cuda_tensor y, uint32_t *fault, uint32_t mark)
{
    const int lane = (int)threadIdx.x % LANES;
    const int64_t warps = (int64_t)gridDim.x * (blockDim.x / LANES);
    const int64_t queries = s.batch * s.t * s.heads, row = s.groups * s.d;
    for (int64_t r = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) / LANES; r < queries;
         r += warps) {
        const int64_t last = cuda_index_at(position, r / s.heads % s.t);
        const int64_t keys = sdpa_cached_keys(&s, r), biases = sdpa_cached_bias(&s, r);
        float mine[EACH] = {0}, sums[EACH] = {0}, max = -INFINITY, sum = 0.0f;
        if (!cuda_index_within(last, s.n, fault, mark))
            continue;
#pragma unroll
        for (int i = 0; i < EACH; i++)
            if (lane + i * LANES < s.d)
                mine[i] = s.scale * cuda_get(q, r * s.d + lane + i * LANES);
        for (int64_t j = 0; j <= last; j++) {
            float score = 0.0f;
#pragma unroll
            for (int i = 0; i < EACH; i++)
                if (lane + i * LANES < s.d)
                    score += mine[i] * cuda_get(k, keys + j * row + lane + i * LANES);
            score = cuda_warp_sum(score);
            if (bias.data)
                score += cuda_get(bias, biases + j * s.bias[3]);
            const float top = fmaxf(max, score), p = expf(score - top);
            const float shrink = max == -INFINITY ? 0.0f : expf(max - top);
#pragma unroll
            for (int i = 0; i < EACH; i++)
                if (lane + i * LANES < s.d)
                    sums[i] =
                        sums[i] * shrink + p * cuda_get(v, keys + j * row + lane + i * LANES);
            sum = sum * shrink + p;
            max = top;
        }
#pragma unroll
        for (int i = 0; i < EACH; i++)
            if (lane + i * LANES < s.d)
                cuda_set(y, r * s.d + lane + i * LANES, sums[i] / sum);
    }
}
CUDA_ENTRY(sdpa_cached_cuda);
