/* vector_copy.cuh - vectorised copies (vector_copy.h) on the device. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_COMMON_CUDA_VECTOR_COPY_CUH
#define KERNELS_COMMON_CUDA_VECTOR_COPY_CUH

#include "common/cuda/vector.cuh"
#include "common/cuda/vector_copy.h"

/* The unit `from` of one tensor to the unit `to` of another; T is as large. */
template <class T> struct cuda_raw {
    using type = T;
    const cuda_tensor &x;
    const cuda_tensor &y;
    __device__ T get(int64_t from) const
    {
        return static_cast<const T *>(x.data)[from];
    }
    __device__ void set(int64_t to, const T &unit) const
    {
        static_cast<T *>(y.data)[to] = unit;
    }
};

template <int V> struct cuda_floats {
    float x[V];
};

template <int V> struct cuda_converted {
    using type = cuda_floats<V>;
    const cuda_tensor &x;
    const cuda_tensor &y;
    __device__ type get(int64_t from) const
    {
        type unit;
        cuda_load<V>(x, from * V, unit.x);
        return unit;
    }
    __device__ void set(int64_t to, const type &unit) const
    {
        cuda_store<V>(y, to * V, unit.x);
    }
};

/* Calls f(mover), whose mover.get(unit of x) and mover.set(unit of y, what get gave) move units. */
template <typename F>
__device__ static inline void cuda_with_vector_copy(int32_t kind, const cuda_tensor &x,
                                                    const cuda_tensor &y, F f)
{
    if (kind == 16)
        f(cuda_raw<cuda_words<4>>{x, y});
    else if (kind == 8)
        f(cuda_raw<uint64_t>{x, y});
    else if (kind == 4)
        f(cuda_raw<uint32_t>{x, y});
    else if (kind == 2)
        f(cuda_raw<uint16_t>{x, y});
    else if (kind == 1)
        f(cuda_raw<uint8_t>{x, y});
    else if (kind == CUDA_CONVERT_8)
        f(cuda_converted<8>{x, y});
    else
        f(cuda_converted<1>{x, y});
}

#endif
