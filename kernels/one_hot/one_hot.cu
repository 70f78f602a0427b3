/* one_hot.cu - classes as rows of zeros with a single one, on the GPU. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/cuda/index.cuh"
#include "common/cuda/index_iter.cuh"

CUDA_KERNEL(one_hot_cuda)
(cuda_tensor x, cuda_tensor y, cuda_index_iter iter, int64_t classes, uint32_t *fault,
 uint32_t mark)
{
    CUDA_EACH(k, iter.n)
    {
        int64_t at[2];
        cuda_index_iter_find(iter, k, at);
        const int64_t own = cuda_index_at(x, at[1]);
        if (cuda_index_within(own, classes, fault, mark))
            cuda_set(y, k, own == at[0] ? 1.0f : 0.0f);
    }
}
CUDA_ENTRY(one_hot_cuda);
