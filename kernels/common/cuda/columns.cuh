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

/* Adds up what f(row, k, a, b) adds to a and b, V columns each, and leaves the block's sums in
 * partials (parts, 2, columns).  `shared` is CUDA_COLUMNS_BLOCK * 2 * V floats. */
template <int V, typename F>
__device__ static inline void cuda_column_sums(const cuda_columns &g, float *partials,
                                               float *shared, F f)
{
    const cuda_place p = cuda_place_of<V>(g);
    float a[V] = {}, b[V] = {};
    for (int64_t r = p.first; r < p.rows; r += p.step)
        f(r, p.k, a, b);
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

/* Calls f(k, a, b) once for every column with its two sums; blocks of 256 threads take 32 columns each.
 * `shared` is 2 * 256 doubles. */
template <typename F>
__device__ static inline void cuda_column_finish(int64_t columns, int32_t parts,
                                                 const float *partials, double *shared, F f)
{
    const int at = (int)threadIdx.x % 32, line = (int)threadIdx.x / 32;
    for (int64_t first = (int64_t)blockIdx.x * 32; first < columns;
         first += (int64_t)gridDim.x * 32) {
        const int64_t k = first + at;
        double a = 0.0, b = 0.0;
        for (int p = line; p < parts && k < columns; p += 8) {
            a += (double)partials[(int64_t)p * 2 * columns + k];
            b += (double)partials[((int64_t)p * 2 + 1) * columns + k];
        }
        __syncthreads();
        shared[threadIdx.x] = a;
        shared[256 + threadIdx.x] = b;
        __syncthreads();
        for (int l = 1; l < 8 && line == 0; l++) {
            a += shared[32 * l + at];
            b += shared[256 + 32 * l + at];
        }
        if (line == 0 && k < columns)
            f(k, a, b);
    }
}

#endif
