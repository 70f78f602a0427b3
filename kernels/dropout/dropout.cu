/* dropout.cu - elements set to zero at random on the GPU, by the same draws as on the CPU. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/cuda/vector.cuh"
#include "tutti/rng.h"

/* A draw is four elements.  The last thread may have fewer. */
CUDA_KERNEL(dropout_cuda)
(cuda_tensor x, cuda_tensor y, int64_t n, float p, float scale, uint32_t purpose,
 const tutti_step *step)
{
    const uint64_t seed = step->seed, number = step->step << 16 | step->microbatch;
    CUDA_EACH(block, (n + 3) / 4)
    {
        const tutti_rng4 r = tutti_rng(seed, purpose, number, (uint64_t)block);
        if (4 * block + 4 <= n) {
            float some[4];
            cuda_load(x, 4 * block, some);
            for (int i = 0; i < 4; i++)
                some[i] = tutti_uniform_f32(r.v[i]) >= p ? some[i] * scale : 0.0f;
            cuda_store(y, 4 * block, some);
            continue;
        }
        for (int64_t k = 4 * block; k < n; k++)
            cuda_set(y, k, tutti_uniform_f32(r.v[k % 4]) >= p ? cuda_get(x, k) * scale : 0.0f);
    }
}
CUDA_ENTRY(dropout_cuda);
