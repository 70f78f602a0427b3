/* good_and_bad.cu - kernels that are right, and kernels with one fault each. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/cuda/mma.cuh"

/* The sum of each block's part, by shuffles and shared memory. */
CUDA_KERNEL(block_sums)(const float *x, float *sums, int n)
{
    CUDA_SHARED(float, part, 32);
    const int k = int(blockIdx.x * blockDim.x + threadIdx.x);
    const float mine = cuda_warp_sum(k < n ? x[k] : 0.0f);
    if (threadIdx.x % 32 == 0)
        part[threadIdx.x / 32] = mine;
    __syncthreads();
    float all = 0.0f;
    for (unsigned w = 0; w < blockDim.x / 32; w++)
        all += part[w];
    if (threadIdx.x == 0)
        sums[blockIdx.x] = all;
}
CUDA_ENTRY(block_sums);

/* Every index of the grid once, also in two and three dimensions. */
CUDA_KERNEL(count_all)(int *counts)
{
    const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    atomicAdd(&counts[block * blockDim.x * blockDim.y * blockDim.z + thread], 1);
}
CUDA_ENTRY(count_all);

/* What each lane sees of the others; 8 results a thread. */
CUDA_KERNEL(lanes)(unsigned *seen)
{
    const unsigned me = threadIdx.x;
    unsigned *mine = seen + me * 8;
    mine[0] = __shfl_sync(~0u, me, 5);
    mine[1] = __shfl_up_sync(~0u, me, 2);
    mine[2] = __shfl_down_sync(~0u, me, 3, 8);
    mine[3] = __shfl_xor_sync(~0u, me, 1);
    mine[4] = __ballot_sync(~0u, me % 3 == 0);
    mine[5] = unsigned(__any_sync(~0u, me == 40)) + 2u * unsigned(__all_sync(~0u, me < 40));
    mine[6] = __match_any_sync(~0u, me % 16);
    mine[7] = __reduce_max_sync(~0u, me) + unsigned(__syncthreads_count(me < 10));
}
CUDA_ENTRY(lanes);

/* Half a warp by itself, then the other. */
CUDA_KERNEL(half_warps)(float *sums)
{
    const bool low = threadIdx.x % 32 < 16;
    float x = float(threadIdx.x);
    if (low)
        for (int o = 8; o; o >>= 1)
            x += __shfl_xor_sync(0x0000FFFFu, x, o);
    else
        for (int o = 8; o; o >>= 1)
            x += __shfl_xor_sync(0xFFFF0000u, x, o);
    __syncwarp();
    sums[threadIdx.x] = x;
}
CUDA_ENTRY(half_warps);

CUDA_KERNEL(poison)(unsigned *seen)
{
    CUDA_SHARED(unsigned, fixed, 64);
    CUDA_DYNAMIC_SHARED(unsigned, dynamic);
    seen[threadIdx.x] = fixed[threadIdx.x] & dynamic[threadIdx.x];
    fixed[threadIdx.x] = dynamic[threadIdx.x] = 0;
}
CUDA_ENTRY(poison);

CUDA_KERNEL(vectors)(const float4 *x, float4 *y, int n)
{
    for (int k = int(threadIdx.x); k < n; k += int(blockDim.x)) {
        const float4 v = __ldg(x + k);
        y[k] = make_float4(v.w, v.z, v.y, v.x);
    }
}
CUDA_ENTRY(vectors);

/* The last block to come adds up, as every block has left its part. */
CUDA_KERNEL(last_block)(int *parts, unsigned *ticket, int *sum)
{
    if (threadIdx.x)
        return;
    parts[blockIdx.x] = int(blockIdx.x);
    __threadfence();
    if (atomicInc(ticket, gridDim.x - 1) == gridDim.x - 1)
        for (unsigned k = 0; k < gridDim.x; k++)
            *sum += parts[k];
}
CUDA_ENTRY(last_block);

/* ---- faults ---- */

CUDA_KERNEL(some_leave)(float *x)
{
    if (threadIdx.x > 40)
        return;
    __syncthreads();
    x[threadIdx.x] = 0.0f;
}
CUDA_ENTRY(some_leave);

CUDA_KERNEL(two_barriers)(float *x)
{
    if (threadIdx.x < 32)
        __syncthreads();
    else
        __syncthreads();
    x[threadIdx.x] = 0.0f;
}
CUDA_ENTRY(two_barriers);

CUDA_KERNEL(missing_partner)(float *x)
{
    if (threadIdx.x < 16)
        x[threadIdx.x] = __shfl_xor_sync(0x0000FFFFu, 1.0f, 16);
}
CUDA_ENTRY(missing_partner);

CUDA_KERNEL(not_in_mask)(float *x)
{
    x[threadIdx.x] = __shfl_xor_sync(0x0000FFFFu, 1.0f, 1);
}
CUDA_ENTRY(not_in_mask);

CUDA_KERNEL(waits_for_ever)(float *x)
{
    if (threadIdx.x == 3)
        __syncthreads();
    x[threadIdx.x] = cuda_warp_sum(1.0f);
}
CUDA_ENTRY(waits_for_ever);

CUDA_KERNEL(too_much_shared)(float *x)
{
    CUDA_SHARED(float, big, 13000);
    big[threadIdx.x] = 1.0f;
    x[threadIdx.x] = big[threadIdx.x];
}
CUDA_ENTRY(too_much_shared);

CUDA_KERNEL(past_the_end)(float *x)
{
    CUDA_DYNAMIC_SHARED(float, row);
    row[threadIdx.x + 1] = x[threadIdx.x];
}
CUDA_ENTRY(past_the_end);

CUDA_KERNEL(past_an_array)(float *x)
{
    CUDA_SHARED(float, a, 32);
    CUDA_SHARED(float, b, 32);
    a[threadIdx.x + 1] = x[threadIdx.x];
    b[threadIdx.x] = 0.0f;
}
CUDA_ENTRY(past_an_array);

/* Right only where threads run in order; the fault that a random order shows. */
CUDA_KERNEL(race)(int *x)
{
    CUDA_SHARED(int, row, 64);
    row[threadIdx.x] = int(threadIdx.x);
    x[threadIdx.x] = threadIdx.x ? row[threadIdx.x - 1] : 0;
}
CUDA_ENTRY(race);

/* Four at once, which must lie at a multiple of 16. */
CUDA_KERNEL(load_four)(float4 *x)
{
    x->x = x->y + x->z + x->w;
}
CUDA_ENTRY(load_four);

CUDA_KERNEL(set_condition)(unsigned long long handle, const unsigned *value)
{
    cudaGraphSetConditional(handle, *value);
}
CUDA_ENTRY(set_condition);

/* ---- copies on the way, matrices ---- */

/* Each thread brings eight numbers, every fourth zeros, and takes its neighbour's. */
CUDA_KERNEL(copies)(const uint16_t *x, uint16_t *y, int waits)
{
    CUDA_SHARED(uint16_t, tile, 64 * 8);
    cuda_copy_begin(tile + threadIdx.x * 8, x + threadIdx.x * 8, threadIdx.x % 4 != 3);
    cuda_copy_commit();
    if (waits)
        cuda_copy_wait<0>();
    __syncthreads();
    y[threadIdx.x] = tile[(threadIdx.x + 1) % 64 * 8];
}
CUDA_ENTRY(copies);

CUDA_KERNEL(copy_askew)(const uint16_t *x)
{
    CUDA_SHARED(uint16_t, tile, 64 * 8);
    cuda_copy_begin(tile + threadIdx.x * 8, x + 1, true);
}
CUDA_ENTRY(copy_askew);

CUDA_KERNEL(matrices_from_afar)(uint16_t *x)
{
    uint32_t to[4];
    cuda_load_matrices<false>(to, x);
    x[threadIdx.x] = (uint16_t)to[0];
}
CUDA_ENTRY(matrices_from_afar);

/* x (8, 64): its first four matrices, as they are and transposed, from rows that lie askew for the banks or not. */
CUDA_KERNEL(matrices)(const uint16_t *x, uint32_t *y, int askew)
{
    CUDA_SHARED(uint16_t, tile, 8 * 64);
    const int lane = (int)threadIdx.x, r = lane % 8, eight = lane / 8;
    for (int k = 0; k < 8 * 64; k += 8)
        if (k / 8 % 32 == lane)
            for (int i = 0; i < 8; i++)
                tile[(askew ? cuda_eight_at<64>(k / 64, k / 8 % 8) : k) + i] = x[k + i];
    __syncwarp();
    const uint16_t *row = tile + (askew ? cuda_eight_at<64>(r, eight) : r * 64 + eight * 8);
    uint32_t to[4], transposed[4];
    cuda_load_matrices<false>(to, row);
    cuda_load_matrices<true>(transposed, row);
    for (int k = 0; k < 4; k++) {
        y[lane * 8 + k] = to[k];
        y[lane * 8 + 4 + k] = transposed[k];
    }
}
CUDA_ENTRY(matrices);
