/* device.cuh - what device code is written with; nvcc compiles it, and g++ with the emulator. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_COMMON_CUDA_DEVICE_CUH
#define KERNELS_COMMON_CUDA_DEVICE_CUH

/* CUDA_KERNEL(name)(arguments) { ... } defines an entry, CUDA_ENTRY(name) behind it tells the emulator.
 * Static shared memory is CUDA_SHARED(type, name, count), one element after another; dynamic shared
 * memory is CUDA_DYNAMIC_SHARED(type, name).  Both come first in a kernel, unconditionally. */
#ifdef __CUDACC__
#include <cuda_runtime.h>
#define CUDA_KERNEL(name) extern "C" __global__ void name
#define CUDA_ENTRY(name) static_assert(true, #name)
#define CUDA_SHARED(type, name, count) __shared__ type name[count]
#define CUDA_DYNAMIC_SHARED(type, name)                                                        \
    extern __shared__ float4 cuda_dynamic_shared[];                                            \
    type *name = reinterpret_cast<type *>(cuda_dynamic_shared)
#else
#include "cuda_emulator.h"
#endif

#include "common/cuda/tensor.h"
#include "common/half.h"
#include "tutti/op.h"

#include <math.h>
#include <stdint.h>

#define CUDA_BLOCK 256 /* threads, where a kernel has no reason for another number */

/* Each element k of n is some thread's: a loop whose step is the whole grid. */
#define CUDA_EACH(k, n)                                                                        \
    for (int64_t k = (int64_t)blockIdx.x * blockDim.x + threadIdx.x,                           \
                 cuda_stride = (int64_t)gridDim.x * blockDim.x;                                \
         k < (n); k += cuda_stride)

__device__ static inline float cuda_get(const cuda_tensor &t, int64_t k)
{
    if (t.dtype == TUTTI_F32)
        return static_cast<const float *>(t.data)[k];
    const uint16_t bits = static_cast<const uint16_t *>(t.data)[k];
    return t.dtype == TUTTI_BF16 ? half_from_bf16(bits) : half_from_f16(bits);
}

__device__ static inline void cuda_set(const cuda_tensor &t, int64_t k, float x)
{
    if (t.dtype == TUTTI_F32)
        static_cast<float *>(t.data)[k] = x;
    else
        static_cast<uint16_t *>(t.data)[k] =
            t.dtype == TUTTI_BF16 ? half_to_bf16(x) : half_to_f16(x);
}

__device__ static inline float cuda_warp_sum(float x)
{
    for (int o = 16; o; o >>= 1)
        x += __shfl_xor_sync(~0u, x, o);
    return x;
}

__device__ static inline float cuda_warp_max(float x)
{
    for (int o = 16; o; o >>= 1)
        x = fmaxf(x, __shfl_xor_sync(~0u, x, o));
    return x;
}

#endif
