/* cuda_code.h - what device code of a plugin is written with; nvcc compiles it, and tests without one. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TUTTI_CUDA_CODE_H
#define TUTTI_CUDA_CODE_H

#include "base.h"

/* TUTTI_KERNEL(name)(arguments) { ... } defines what a manifest calls the entry of a kernel, and
 * TUTTI_KERNEL_ENTRY(name); follows it.  Arguments are those of the manifest.  Functions that
 * such code shares with C are TUTTI_SHARED.  TUTTI_BLOCK(type, name, count) at the beginning of a
 * kernel is memory that the threads of a block share. */
#ifdef __CUDACC__
#include <cuda_runtime.h>
#define TUTTI_KERNEL(name) extern "C" __global__ void name
#define TUTTI_KERNEL_ENTRY(name) static_assert(true, #name)
#define TUTTI_SHARED static inline __host__ __device__
#define TUTTI_BLOCK(type, name, count) __shared__ type name[count]
#elif defined(CUDA_EMULATED_IMAGE) /* the tests' emulator */
#include "cuda_emulator.h"
#define TUTTI_KERNEL(name) CUDA_KERNEL(name)
#define TUTTI_KERNEL_ENTRY(name) CUDA_ENTRY(name)
#define TUTTI_BLOCK(type, name, count) CUDA_SHARED(type, name, count)
#define TUTTI_SHARED static inline
#else
#define TUTTI_SHARED static inline
#endif

/* Each element k of n is some thread's: a loop whose step is the whole grid. */
#define TUTTI_EACH(k, n)                                                                       \
    for (int64_t k = (int64_t)blockIdx.x * blockDim.x + threadIdx.x,                           \
                 tutti_stride = (int64_t)gridDim.x * blockDim.x;                               \
         k < (n); k += tutti_stride)

#endif
