/* argmax.cu - where along an axis the greatest element is, on the GPU. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/cuda/device.cuh"

/* Is x at place i before y at place j?  A NaN is the greatest; of equals the first is taken. */
__device__ static bool wins(float x, int64_t i, float y, int64_t j)
{
    if (x != x || y != y)
        return x != x && (y == y || i < j);
    return x > y || (x == y && i < j);
}

/* A warp for each result. */
CUDA_KERNEL(argmax_cuda)(cuda_tensor x, int64_t *y, int64_t results, int64_t n, int64_t inner)
{
    const int lane = (int)threadIdx.x % 32;
    const int64_t warps = (int64_t)gridDim.x * (blockDim.x / 32);
    for (int64_t r = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) / 32; r < results;
         r += warps) {
        const int64_t base = r / inner * n * inner + r % inner;
        float best = -INFINITY;
        int64_t at = INT64_MAX;
        for (int64_t k = lane; k < n; k += 32) {
            const float here = cuda_get(x, base + k * inner);
            if (wins(here, k, best, at)) {
                best = here;
                at = k;
            }
        }
        for (int o = 16; o; o >>= 1) {
            const float other = __shfl_xor_sync(~0u, best, o);
            const int64_t place = __shfl_xor_sync(~0u, at, o);
            if (wins(other, place, best, at)) {
                best = other;
                at = place;
            }
        }
        if (lane == 0)
            y[r] = at;
    }
}
CUDA_ENTRY(argmax_cuda);
