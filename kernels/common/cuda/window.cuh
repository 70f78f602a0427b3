/* window.cuh - device code of a tensor put into a larger one that is one number elsewhere. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_COMMON_CUDA_WINDOW_CUH
#define KERNELS_COMMON_CUDA_WINDOW_CUH

#include "common/cuda/index_iter.cuh"
#include "common/cuda/vector_copy.cuh"
#include "common/cuda/window.h"

template <class T> __device__ static inline void cuda_window_fill(const cuda_window &w, T &unit)
{
    memcpy(&unit, w.fill, sizeof unit);
}

template <int V>
__device__ static inline void cuda_window_fill(const cuda_window &w, cuda_floats<V> &unit)
{
    for (int i = 0; i < V; i++)
        unit.x[i] = w.fill_f32;
}

/* The unit of x that unit k of the result is, or -1. */
__device__ static inline int64_t cuda_window_at(const cuda_window &w, int64_t k)
{
    int64_t at = 0;
    bool inside = true;
    for (int32_t d = w.result.rank - 1; d >= 0; d--) {
        const int64_t up = d ? cuda_divide(k, w.result.dim[d], w.result.wide) : 0;
        int64_t here = k - up * w.result.dim[d].d - w.before[d];
        if (w.step[d] != 1 && here >= 0) {
            inside = inside && here % w.step[d] == 0;
            here /= w.step[d];
        }
        inside = inside && here >= 0 && here < w.inside[d];
        at += here * w.result.stride[0][d];
        k = up;
    }
    return inside ? at : -1;
}

#define CUDA_WINDOW(op)                                                                        \
    CUDA_KERNEL(op##_cuda)(cuda_window w, cuda_tensor x, cuda_tensor y)                        \
    {                                                                                          \
        cuda_with_vector_copy(w.unit, x, y, [&](auto mover) {                                  \
            CUDA_EACH(k, w.result.n)                                                           \
            {                                                                                  \
                const int64_t at = cuda_window_at(w, k);                                       \
                typename decltype(mover)::type unit;                                           \
                if (at < 0)                                                                    \
                    cuda_window_fill(w, unit);                                                 \
                else                                                                           \
                    unit = mover.get(at);                                                      \
                mover.set(k, unit);                                                            \
            }                                                                                  \
        });                                                                                    \
    }                                                                                          \
    CUDA_ENTRY(op##_cuda)

#endif
