/* where.cu - a where a condition holds, else b, on the GPU. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/cuda/elementwise.cuh"
#include "common/cuda/vector_copy.cuh"

__device__ static bool is_float(const cuda_tensor &t)
{
    return t.dtype == TUTTI_F32 || t.dtype == TUTTI_BF16 || t.dtype == TUTTI_F16;
}

/* c: floats, or one byte each; a, b and y: all floats, or of one dtype. */
CUDA_KERNEL(where_cuda)
(cuda_index_iter iter, cuda_tensor c, cuda_tensor a, cuda_tensor b, cuda_tensor y, int32_t unit)
{
    const bool number = is_float(c);
    if (number && is_float(y)) {
        const cuda_tensor in[3] = {c, a, b};
        cuda_map(iter, in, y, [](float holds, float first, float second) {
            return holds != 0.0f ? first : second;
        });
        return;
    }
    cuda_with_vector_copy(unit, a, y, [&](auto first) {
        const decltype(first) second{b, y};
        CUDA_EACH(k, iter.n)
        {
            int64_t at[3];
            cuda_index_iter_find(iter, k, at);
            const bool holds = number ? cuda_get(c, at[0]) != 0.0f
                                      : static_cast<const uint8_t *>(c.data)[at[0]] != 0;
            first.set(k, holds ? first.get(at[1]) : second.get(at[2]));
        }
    });
}
CUDA_ENTRY(where_cuda);
