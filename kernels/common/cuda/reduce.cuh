/* reduce.cuh - device code of reductions over any axes, in an order that depends on shapes alone. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_COMMON_CUDA_REDUCE_CUH
#define KERNELS_COMMON_CUDA_REDUCE_CUH

#include "common/cuda/index_iter.cuh"
#include "common/cuda/reduce.h"
#include "common/cuda/vector.cuh"

/* Eight elements in f32, all others in f64. */
struct cuda_sum {
    using total = double;
    static __device__ float none()
    {
        return 0.0f;
    }
    static __device__ double eight(const float (&x)[8])
    {
        return ((x[0] + x[1]) + (x[2] + x[3])) + ((x[4] + x[5]) + (x[6] + x[7]));
    }
    static __device__ double join(double x, double y)
    {
        return x + y;
    }
    static __device__ float end(double x, double scale)
    {
        return (float)(scale * x);
    }
};

/* A NaN wins. */
struct cuda_greatest {
    using total = float;
    static __device__ float none()
    {
        return -INFINITY;
    }
    static __device__ float join(float x, float y)
    {
        return x > y || x != x ? x : y;
    }
    static __device__ float eight(const float (&x)[8])
    {
        float y = x[0];
        for (int i = 1; i < 8; i++)
            y = join(x[i], y);
        return y;
    }
    static __device__ float end(float x, double)
    {
        return x;
    }
};

/* part[0] of every `along` neighbours = all of theirs, as a tree; for all threads of the block. */
template <class R>
__device__ static inline void cuda_join_tree(typename R::total *part, int lane, int along)
{
    for (int half = along / 2; half; half /= 2) {
        __syncthreads();
        if (lane < half)
            part[0] = R::join(part[0], part[half]);
    }
}

/* What thread `lane` of `along` has of elements [first, end) of the result at `base`. */
template <class R>
__device__ static inline typename R::total
cuda_reduce_lane(const cuda_reduction &r, const cuda_tensor &x, int64_t base, int64_t first,
                 int64_t end, int lane)
{
    typename R::total all = R::none();
    float some[8];
    if (r.over.group == 8) {
        for (int64_t k = first + 8 * lane; k < end; k += 8 * r.along) {
            cuda_load<8>(x, base + k, some);
            all = R::join(all, R::eight(some));
        }
        return all;
    }
    for (int64_t k = first + lane; k < end; k += 8 * r.along) {
#pragma unroll
        for (int i = 0; i < 8; i++) {
            const int64_t at = k + i * r.along;
            some[i] = at < end ? cuda_get(x, base + cuda_index_iter_at(r.over, at)) : R::none();
        }
        all = R::join(all, R::eight(some));
    }
    return all;
}

/* One tile of results and one piece of what joins in them per block; `parts` (results, pieces). */
template <class R>
__device__ static inline void cuda_reduce_pieces(const cuda_reduction &r, const cuda_tensor &x,
                                                 const cuda_tensor &y, double *parts,
                                                 typename R::total *shared)
{
    const int wide = (int)blockDim.x / r.along, thread = (int)threadIdx.x;
    const int column = r.columns ? thread % wide : thread / r.along;
    const int lane = r.columns ? thread / wide : thread % r.along;
    const int64_t piece = blockIdx.x % r.pieces, tile = blockIdx.x / r.pieces;
    const int64_t result = tile * wide + column, first = piece * r.piece;
    const int64_t end = first + r.piece < r.over.n ? first + r.piece : r.over.n;
    typename R::total *part = shared + column * r.along + lane;
    *part = R::none();
    if (result < r.kept.n)
        *part = cuda_reduce_lane<R>(r, x, cuda_index_iter_at(r.kept, result), first, end, lane);
    cuda_join_tree<R>(part, lane, r.along);
    if (lane || result >= r.kept.n)
        return;
    if (r.pieces == 1)
        cuda_set(y, result, R::end(*part, r.scale));
    else
        parts[result * r.pieces + piece] = *part;
}

/* The pieces of eight results per block. */
template <class R>
__device__ static inline void cuda_reduce_join(const double *parts, const cuda_tensor &y,
                                               int64_t results, int32_t pieces, double scale,
                                               typename R::total *shared)
{
    const int thread = (int)threadIdx.x, lane = thread % 32;
    const int64_t result = (int64_t)blockIdx.x * (blockDim.x / 32) + thread / 32;
    typename R::total *part = shared + thread;
    *part = R::none();
    for (int32_t k = lane; result < results && k < pieces; k += 32)
        *part = R::join(*part, (typename R::total)parts[result * pieces + k]);
    cuda_join_tree<R>(part, lane, 32);
    if (lane == 0 && result < results)
        cuda_set(y, result, R::end(*part, scale));
}

/* <op>_cuda and <op>_join_cuda with R: cuda_sum or cuda_greatest. */
#define CUDA_REDUCE(op, R)                                                                     \
    CUDA_KERNEL(op##_cuda)(cuda_reduction r, cuda_tensor x, cuda_tensor y, double *parts)      \
    {                                                                                          \
        CUDA_SHARED(R::total, shared, CUDA_BLOCK);                                             \
        cuda_reduce_pieces<R>(r, x, y, parts, shared);                                         \
    }                                                                                          \
    CUDA_ENTRY(op##_cuda);                                                                     \
    CUDA_KERNEL(op##_join_cuda)                                                                \
    (const double *parts, cuda_tensor y, int64_t results, int32_t pieces, double scale)        \
    {                                                                                          \
        CUDA_SHARED(R::total, shared, CUDA_BLOCK);                                             \
        cuda_reduce_join<R>(parts, y, results, pieces, scale, shared);                         \
    }                                                                                          \
    CUDA_ENTRY(op##_join_cuda)

#endif
