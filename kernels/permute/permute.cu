/* permute.cu - axes in another order, on the GPU. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/cuda/strided.cuh"
#include "permute/permute.h"

CUDA_STRIDED(permute);

/* A tile at a time through shared memory: a warp reads along rows, and writes along columns. */
CUDA_KERNEL(permute_tiles_cuda)
(permute_tiles t, cuda_tensor x, cuda_tensor y, int32_t unit)
{
    CUDA_SHARED(uint64_t, shared, PERMUTE_TILE * (PERMUTE_TILE + 1));
    const int along = (int)threadIdx.x % PERMUTE_TILE, line = (int)threadIdx.x / PERMUTE_TILE;
    const int lines = (int)blockDim.x / PERMUTE_TILE;
    const int64_t high = (t.rows + PERMUTE_TILE - 1) / PERMUTE_TILE;
    const int64_t wide = (t.columns + PERMUTE_TILE - 1) / PERMUTE_TILE;
    cuda_with_vector_copy(unit, x, y, [&](auto mover) {
        using element = typename decltype(mover)::type;
        if constexpr (sizeof(element) <= sizeof(uint64_t)) {
            element *tile = reinterpret_cast<element *>(shared);
            for (int64_t k = blockIdx.x; k < t.matrices.n * high * wide; k += gridDim.x) {
                const int64_t row = k / wide % high * PERMUTE_TILE;
                const int64_t column = k % wide * PERMUTE_TILE;
                int64_t at[2];
                cuda_index_iter_find(t.matrices, k / wide / high, at);
                __syncthreads();
                for (int i = line; i < PERMUTE_TILE && row + along < t.rows; i += lines)
                    if (column + i < t.columns)
                        tile[i * (PERMUTE_TILE + 1) + along] =
                            mover.get(at[0] + row + along + (column + i) * t.column_in_x);
                __syncthreads();
                for (int i = line; i < PERMUTE_TILE && column + along < t.columns; i += lines)
                    if (row + i < t.rows)
                        mover.set(at[1] + (row + i) * t.row_in_y + column + along,
                                  tile[along * (PERMUTE_TILE + 1) + i]);
            }
        }
    });
}
CUDA_ENTRY(permute_tiles_cuda);
