/* max_pool2d.cu - the largest of each window on the GPU, its gradient, and the gradient's. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/cuda/pool.cuh"

#include "max_pool2d/max_pool2d_cuda.h"

/* A NaN counts as the largest; of equal values the first wins. */
template <int V> __device__ static inline void largest(const max_pool2d_cuda_args &a)
{
    const pool_geometry &g = a.geometry;
    CUDA_EACH(unit, g.b * g.oh * g.ow * (g.c / V))
    {
        const pool_place p = pool_place_of<V>(unit, g.oh, g.ow, g.c);
        const pool_window w = pool_window_at(&g, p.i, p.j);
        const int64_t image = p.b * g.h * g.w;
        float best[V];
        int32_t where[V];
        cuda_load(a.from, (image + w.top * g.w + w.left) * g.c + p.k, best);
        for (int i = 0; i < V; i++)
            where[i] = (int32_t)(w.top * g.w + w.left);
        for (int64_t r = w.top; r < w.bottom; r++) {
            for (int64_t s = w.left; s < w.right; s++) {
                float x[V];
                cuda_load(a.from, (image + r * g.w + s) * g.c + p.k, x);
                for (int i = 0; i < V; i++) {
                    const bool more = x[i] > best[i] || x[i] != x[i];
                    best[i] = more ? x[i] : best[i];
                    where[i] = more ? (int32_t)(r * g.w + s) : where[i];
                }
            }
        }
        cuda_store(a.to, p.at, best);
        for (int i = 0; i < V; i++)
            a.index[p.at + i] = where[i];
    }
}

/* dx of a pixel: the sum over the windows that found it largest. */
template <int V> __device__ static inline void gradient(const max_pool2d_cuda_args &a)
{
    const pool_geometry &g = a.geometry;
    CUDA_EACH(unit, g.b * g.h * g.w * (g.c / V))
    {
        const pool_place p = pool_place_of<V>(unit, g.h, g.w, g.c);
        const int64_t i_end = pool_end(p.i, g.sh, g.ph, g.oh);
        const int64_t j_end = pool_end(p.j, g.sw, g.pw, g.ow);
        const int32_t own = (int32_t)(p.i * g.w + p.j);
        float dx[V] = {};
        for (int64_t i = pool_first(p.i, g.kh, g.sh, g.ph); i < i_end; i++) {
            for (int64_t j = pool_first(p.j, g.kw, g.sw, g.pw); j < j_end; j++) {
                const int64_t at = ((p.b * g.oh + i) * g.ow + j) * g.c + p.k;
                float dy[V];
                cuda_load(a.from, at, dy);
                for (int k = 0; k < V; k++)
                    dx[k] += a.index[at + k] == own ? dy[k] : 0.0f;
            }
        }
        cuda_store(a.to, p.at, dx);
    }
}

POOL_KERNELS(max_pool2d, largest, (max_pool2d_cuda_args a), (a));
POOL_KERNELS(max_pool2d_grad, gradient, (max_pool2d_cuda_args a), (a));

CUDA_KERNEL(max_pool2d_gather)(max_pool2d_cuda_args a)
{
    const pool_geometry &g = a.geometry;
    const int64_t pixels = g.h * g.w;
    CUDA_EACH(at, g.b * g.oh * g.ow * g.c)
    {
        const int32_t index = a.index[at];
        const bool fits = index >= 0 && index < pixels;
        if (!fits)
            *a.fault = a.mark;
        const int64_t b = at / (g.oh * g.ow * g.c);
        cuda_set(a.to, at,
                 fits ? cuda_get(a.from, (b * pixels + index) * g.c + at % g.c) : 0.0f);
    }
}
CUDA_ENTRY(max_pool2d_gather);
