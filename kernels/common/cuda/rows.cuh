/* rows.cuh - teams of threads that share a row: a warp, or where rows are long the whole block. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_COMMON_CUDA_ROWS_CUH
#define KERNELS_COMMON_CUDA_ROWS_CUH

#include "common/cuda/vector.cuh"

struct cuda_team {
    int rank, size;
    int64_t first, step; /* rows of this team: first, first + step, ... */
    float *shared;       /* 32 floats of the block */
};

/* All threads of a block belong to as many rows, so that they meet at barriers. */
__device__ static inline cuda_team cuda_team_of(int32_t whole, float *shared)
{
    const int warps = (int)blockDim.x / 32, thread = (int)threadIdx.x;
    if (whole)
        return {thread, (int)blockDim.x, (int64_t)blockIdx.x, (int64_t)gridDim.x, shared};
    return {thread % 32, 32, (int64_t)blockIdx.x * warps + thread / 32,
            (int64_t)gridDim.x * warps, shared};
}

/* The sum, or the largest, of the team's x, for each of its threads, in a fixed order. */
__device__ static inline float cuda_team_sum(const cuda_team &t, float x)
{
    x = cuda_warp_sum(x);
    if (t.size == 32)
        return x;
    __syncthreads();
    if (t.rank % 32 == 0)
        t.shared[t.rank / 32] = x;
    __syncthreads();
    return cuda_warp_sum(t.rank % 32 < t.size / 32 ? t.shared[t.rank % 32] : 0.0f);
}

__device__ static inline float cuda_team_max(const cuda_team &t, float x)
{
    x = cuda_warp_max(x);
    if (t.size == 32)
        return x;
    __syncthreads();
    if (t.rank % 32 == 0)
        t.shared[t.rank / 32] = x;
    __syncthreads();
    return cuda_warp_max(t.rank % 32 < t.size / 32 ? t.shared[t.rank % 32] : -INFINITY);
}

template <int V> struct cuda_width {
    static constexpr int value = V;
};

/* Calls f(k, cuda_width<V>) so that elements [begin, begin + n) of a tensor are each thread's share:
 * eight at a time where they lie at a multiple of eight, one by one before and behind. */
template <typename F>
__device__ static inline void cuda_team_visit(const cuda_team &t, int64_t begin, int64_t n, F f)
{
    const int64_t end = begin + n, whole = (begin + 7) / 8 * 8;
    const int64_t first = whole < end ? whole : end, last = end / 8 * 8;
    if (begin + t.rank < first)
        f(begin + t.rank, cuda_width<1>());
    for (int64_t k = first + 8 * t.rank; k < last; k += 8 * t.size)
        f(k, cuda_width<8>());
    const int64_t tail = last > first ? last : first;
    if (tail + t.rank < end)
        f(tail + t.rank, cuda_width<1>());
}

#endif
