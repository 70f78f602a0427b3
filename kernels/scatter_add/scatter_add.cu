/* scatter_add.cu - slices added to those of base that an index names, on the GPU. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/cuda/index.cuh"
#include "scatter_add/scatter_add.h"

/* The entries of the index for a block's rows, in the order of the index. */
struct scatter_list {
    int32_t *entry;  /* number in the index */
    uint8_t *row;    /* within the block */
    int32_t *sorted; /* entries by row, row r's in [begin[r], begin[r + 1]) */
    int32_t *begin;
    int32_t *kept; /* by warp */
};

/* Entries [first, first + blockDim.x) that are for rows [low, low + rows) go behind the `n` that the
 * list has; how many it has then.  All threads of the block. */
__device__ static int append(const scatter_list &list, int n, const scatter_shape &s,
                             const cuda_tensor &index, int64_t first, int64_t low,
                             uint32_t *fault, uint32_t mark)
{
    const int thread = (int)threadIdx.x, warp = thread / 32, warps = (int)blockDim.x / 32;
    const int64_t k = first + thread;
    int64_t row = -1;
    if (k < s.count) {
        const int64_t there = cuda_index_at(index, k);
        if (cuda_index_within(there, s.n, fault, mark))
            row = there - low;
    }
    const bool mine = row >= 0 && row < s.rows;
    const uint32_t votes = __ballot_sync(~0u, mine);
    if (thread % 32 == 0)
        list.kept[warp] = __popc(votes);
    __syncthreads();
    int at = n + __popc(votes & ((1u << thread % 32) - 1u));
    for (int w = 0; w < warps; w++) {
        at += w < warp ? list.kept[w] : 0;
        n += list.kept[w];
    }
    if (mine) {
        list.entry[at] = (int32_t)k;
        list.row[at] = (uint8_t)row;
    }
    __syncthreads();
    return n;
}

/* Stable: a thread for each row. */
__device__ static void sort(const scatter_list &list, int n, int rows)
{
    const int row = (int)threadIdx.x;
    if (row < rows) {
        int before = 0;
        for (int i = 0; i < n; i++)
            before += list.row[i] < row;
        list.begin[row] = before;
        if (row == 0)
            list.begin[rows] = n;
        for (int i = 0; i < n; i++)
            if (list.row[i] == row)
                list.sorted[before++] = list.entry[i];
    }
    __syncthreads();
}

/* from: base the first time, then y.  Each element is one thread's. */
__device__ static void add(const scatter_list &list, const scatter_shape &s, int64_t outer,
                           int64_t low, const cuda_tensor &from, const cuda_tensor &src,
                           const cuda_tensor &y)
{
    const int across = (int)threadIdx.x % s.across, down = (int)threadIdx.x / s.across;
    for (int r = down; r < s.rows && low + r < s.n; r += (int)blockDim.x / s.across) {
        const int begin = list.begin[r], end = list.begin[r + 1];
        if (begin == end && from.data == y.data)
            continue;
        for (int64_t i = across; i < s.inner; i += s.across) {
            const int64_t at = (outer * s.n + low + r) * s.inner + i;
            float sum = cuda_get(from, at);
#pragma unroll 4
            for (int k = begin; k < end; k++)
                sum += cuda_get(src, (outer * s.count + list.sorted[k]) * s.inner + i);
            cuda_set(y, at, sum);
        }
    }
    __syncthreads();
}

CUDA_KERNEL(scatter_add_cuda)
(scatter_shape s, cuda_tensor base, cuda_tensor index, cuda_tensor src, cuda_tensor y,
 uint32_t *fault, uint32_t mark)
{
    CUDA_SHARED(int32_t, entry, SCATTER_LIST);
    CUDA_SHARED(int32_t, sorted, SCATTER_LIST);
    CUDA_SHARED(uint8_t, row, SCATTER_LIST);
    CUDA_SHARED(int32_t, begin, SCATTER_ROWS + 1);
    CUDA_SHARED(int32_t, kept, CUDA_BLOCK / 32);
    const scatter_list list = {entry, row, sorted, begin, kept};
    const int64_t parts = (s.n + s.rows - 1) / s.rows;
    const int64_t outer = blockIdx.x / parts, low = blockIdx.x % parts * s.rows;
    cuda_tensor from = base;
    int n = 0;
    for (int64_t first = 0; first < s.count; first += blockDim.x) {
        n = append(list, n, s, index, first, low, fault, mark);
        if (n + (int)blockDim.x <= SCATTER_LIST)
            continue;
        sort(list, n, s.rows);
        add(list, s, outer, low, from, src, y);
        from = y;
        n = 0;
    }
    sort(list, n, s.rows);
    add(list, s, outer, low, from, src, y);
}
CUDA_ENTRY(scatter_add_cuda);
