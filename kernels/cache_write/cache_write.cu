/* cache_write.cu - rows put into a cache at a position, on the GPU. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/cuda/index.cuh"

/* In place, element k of n is one of the rows; else of the result. */
CUDA_KERNEL(cache_write_cuda)
(cuda_tensor x, cuda_tensor rows, cuda_tensor position, cuda_tensor y, int64_t n,
 int64_t length, int64_t t, int64_t inner, int32_t in_place, uint32_t *fault, uint32_t mark)
{
    const int64_t first = cuda_index_at(position, 0);
    if (!cuda_index_within(first, length - t + 1, fault, mark))
        return;
    CUDA_EACH(k, n)
    {
        const int64_t per = in_place ? t : length, b = k / inner / per, at = k / inner % per;
        const int64_t row = in_place ? at : at - first, place = in_place ? at + first : at;
        const int64_t to = (b * length + place) * inner + k % inner;
        cuda_set(y, to,
                 row < 0 || row >= t ? cuda_get(x, to)
                                     : cuda_get(rows, (b * t + row) * inner + k % inner));
    }
}
CUDA_ENTRY(cache_write_cuda);
