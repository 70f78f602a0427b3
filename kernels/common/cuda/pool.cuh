/* pool.cuh - a grid over pixels, V neighbouring channels a thread: what pooling is written with. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_COMMON_CUDA_POOL_CUH
#define KERNELS_COMMON_CUDA_POOL_CUH

#include "common/cuda/vector.cuh"
#include "common/pool_geometry.h"

/* Pixel (b, i, j) and its channels from k on; `at` is where they lie. */
struct pool_place {
    int64_t b, i, j, k, at;
};

/* Number `unit` of an image batch of h x w pixels of c channels. */
template <int V>
__device__ static inline pool_place pool_place_of(int64_t unit, int64_t h, int64_t w, int64_t c)
{
    const int64_t chunks = c / V, pixel = unit / chunks, row = pixel / w;
    return {row / h, row % h, pixel % w, unit % chunks * V, unit * V};
}

/* Kernel `name`_<V> for 1 and 8 channels out of body<V>(arguments). */
#define POOL_KERNELS(name, body, parameters, arguments)                                        \
    CUDA_KERNEL(name##_1) parameters                                                           \
    {                                                                                          \
        body<1> arguments;                                                                     \
    }                                                                                          \
    CUDA_ENTRY(name##_1);                                                                      \
    CUDA_KERNEL(name##_8) parameters                                                           \
    {                                                                                          \
        body<8> arguments;                                                                     \
    }                                                                                          \
    CUDA_ENTRY(name##_8)

#endif
