/* rope.cu - rotary position embedding on the GPU: a thread turns a pair. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/cuda/vector.cuh"
#include "rope/rope.h"

/* y may lie where x lay: a pair is read before it is written, and no thread reads another's. */
CUDA_KERNEL(rope_cuda)
(rope_rows s, cuda_tensor x, cuda_tensor cosine, cuda_tensor sine, cuda_tensor y)
{
    CUDA_EACH(k, s.count * s.t * s.half)
    {
        const int64_t row = k / s.half, i = k % s.half;
        const int64_t at = row * 2 * s.half + i, angle = row % s.t * s.half + i;
        const float a = cuda_get(x, at), b = cuda_get(x, at + s.half);
        const float c = cuda_get(cosine, angle), by = cuda_get(sine, angle) * s.sign;
        cuda_set(y, at, a * c - b * by);
        cuda_set(y, at + s.half, b * c + a * by);
    }
}
CUDA_ENTRY(rope_cuda);
