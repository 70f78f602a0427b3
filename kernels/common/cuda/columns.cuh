/* columns.cuh - two sums over the rows for every column, in two stages and a fixed order. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_COMMON_CUDA_COLUMNS_CUH
#define KERNELS_COMMON_CUDA_COLUMNS_CUH

#include "common/cuda/columns.h"
#include "common/cuda/vector.cuh"

/* A thread's columns [k, k + width) and rows first, first + step, ...; none when rows is 0. */
struct cuda_place {
    int64_t k, first, step, rows;
    int line; /* in the block */
    int part;
};

template <int V> __device__ static inline cuda_place cuda_place_of(const cuda_columns &g)
{
    const int chunk = (int)blockIdx.x % g.chunks, part = (int)blockIdx.x / g.chunks;
    const int line = (int)threadIdx.x / g.across, at = (int)threadIdx.x % g.across;
    const int64_t k = ((int64_t)chunk * g.across + at) * V;
    const bool idle = line >= g.down || k >= g.columns;
    return {
        k,   (int64_t)part * g.down + line, (int64_t)g.parts * g.down, idle ? 0 : g.rows, line,
        part};
}

/* A thread's elements at, at + stride, ... as long as they lie in [0, end); stride may be negative. */
struct cuda_strided_range {
    int64_t at, stride, end;
};

/* From the first row of the thread to its last, and from the last of all to the first. */
__device__ static inline cuda_strided_range cuda_rows_forward(const cuda_columns &g,
                                                              const cuda_place &p)
{
    const int64_t end = g.rows * g.columns;
    return {p.rows ? p.first * g.columns + p.k : end, p.step * g.columns, end};
}

__device__ static inline cuda_strided_range cuda_rows_backward(const cuda_columns &g,
                                                               const cuda_place &p)
{
    const int64_t end = g.rows * g.columns;
    return {p.rows ? end - (p.first + 1) * g.columns + p.k : end, -p.step * g.columns, end};
}

/* use(at, load(at)) along the range, U at a time: their loads are all under way before the first is used. */
template <int U, typename L, typename F>
__device__ static inline void cuda_each_row(const cuda_strided_range &r, L load, F use)
{
    const auto inside = [&](int64_t at) { return (uint64_t)at < (uint64_t)r.end; };
    decltype(load(r.at)) some[U];
    int64_t at = r.at;
    for (; inside(at) && inside(at + (U - 1) * r.stride); at += U * r.stride) {
#pragma unroll
        for (int u = 0; u < U; u++)
            some[u] = load(at + u * r.stride);
#pragma unroll
        for (int u = 0; u < U; u++)
            use(at + u * r.stride, some[u]);
    }
    if (!inside(at))
        return;
#pragma unroll
    for (int u = 0; u < U - 1; u++)
        if (inside(at + u * r.stride))
            some[u] = load(at + u * r.stride);
#pragma unroll
    for (int u = 0; u < U - 1; u++)
        if (inside(at + u * r.stride))
            use(at + u * r.stride, some[u]);
}

/* Leaves the sums of the block's a and b in partials (parts, 2, columns).  `shared` is
 * CUDA_COLUMNS_BLOCK * 2 * V floats. */
template <int V>
__device__ static inline void cuda_column_join(const cuda_columns &g, const cuda_place &p,
                                               const float (&a)[V], const float (&b)[V],
                                               float *partials, float *shared)
{
    for (int i = 0; i < V; i++) {
        shared[i * CUDA_COLUMNS_BLOCK + threadIdx.x] = a[i];
        shared[(V + i) * CUDA_COLUMNS_BLOCK + threadIdx.x] = b[i];
    }
    int half = 1;
    while (half < g.down)
        half *= 2;
    for (half /= 2; half; half /= 2) {
        __syncthreads();
        if (p.line < half && p.line + half < g.down)
            for (int i = 0; i < 2 * V; i++)
                shared[i * CUDA_COLUMNS_BLOCK + threadIdx.x] +=
                    shared[i * CUDA_COLUMNS_BLOCK + threadIdx.x + half * g.across];
    }
    __syncthreads();
    if (p.line == 0 && p.k < g.columns) {
        float *to = partials + (int64_t)p.part * 2 * g.columns + p.k;
        for (int i = 0; i < V; i++) {
            to[i] = shared[i * CUDA_COLUMNS_BLOCK + threadIdx.x];
            to[g.columns + i] = shared[(V + i) * CUDA_COLUMNS_BLOCK + threadIdx.x];
        }
    }
}

/* The same of what f(row, k, a, b) adds to a and b, V columns each. */
template <int V, typename F>
__device__ static inline void cuda_column_sums(const cuda_columns &g, float *partials,
                                               float *shared, F f)
{
    const cuda_place p = cuda_place_of<V>(g);
    float a[V] = {}, b[V] = {};
    for (int64_t r = p.first; r < p.rows; r += p.step)
        f(r, p.k, a, b);
    cuda_column_join<V>(g, p, a, b, partials, shared);
}

struct cuda_two {
    float a, b;
};

/* Calls f(k, a, b) once for every column with its two sums; cuda_finish_blocks blocks of 256 threads.
 * `shared` is 2 * 256 doubles. */
template <typename F>
__device__ static inline void cuda_column_finish(int64_t columns, int32_t parts,
                                                 const float *partials, double *shared, F f)
{
    const int wide = CUDA_FINISH_COLUMNS, lines = 256 / wide, line = (int)threadIdx.x / wide;
    for (int64_t first = (int64_t)blockIdx.x * wide; first < columns;
         first += (int64_t)gridDim.x * wide) {
        const int64_t k = first + (int)threadIdx.x % wide;
        double a = 0.0, b = 0.0;
        const int64_t stride = lines * 2 * columns, end = parts * 2 * columns;
        const cuda_strided_range r = {k < columns ? line * 2 * columns + k : end, stride, end};
        cuda_each_row<4>(
            r,
            [&](int64_t at) {
                return cuda_two{partials[at], partials[at + columns]};
            },
            [&](int64_t, const cuda_two &both) {
                a += (double)both.a;
                b += (double)both.b;
            });
        __syncthreads();
        shared[threadIdx.x] = a;
        shared[256 + threadIdx.x] = b;
        for (int half = lines / 2; half; half /= 2) {
            __syncthreads();
            if (line < half) {
                shared[threadIdx.x] += shared[threadIdx.x + half * wide];
                shared[256 + threadIdx.x] += shared[256 + threadIdx.x + half * wide];
            }
        }
        if (line == 0 && k < columns)
            f(k, shared[threadIdx.x], shared[256 + threadIdx.x]);
    }
}

#endif
