/* gather.cu - the slices of x along an axis that an index names, on the GPU. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/cuda/index.cuh"
#include "common/cuda/index_iter.cuh"
#include "common/cuda/vector_copy.cuh"

/* The iterator: where in x unit k would be with index 0, and which entry of the index it has. */
CUDA_KERNEL(gather_cuda)
(cuda_index_iter iter, cuda_tensor x, cuda_tensor index, cuda_tensor y, int64_t n,
 int64_t inner, int32_t unit, uint32_t *fault, uint32_t mark)
{
    cuda_with_vector_copy(unit, x, y, [&](auto mover) {
        CUDA_EACH(k, iter.n)
        {
            int64_t at[2];
            cuda_index_iter_find(iter, k, at);
            const int64_t slice = cuda_index_at(index, at[1]);
            if (cuda_index_within(slice, n, fault, mark))
                mover.set(k, mover.get(at[0] + slice * inner));
        }
    });
}
CUDA_ENTRY(gather_cuda);
