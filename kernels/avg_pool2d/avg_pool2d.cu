/* avg_pool2d.cu - the mean of each window on the GPU, and its gradient. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/cuda/pool.cuh"

/* What one element of the window weighs. */
__device__ static inline float weight(const pool_geometry &g, const pool_window &w, int32_t pad)
{
    const int64_t inside = (w.bottom - w.top) * (w.right - w.left);
    return 1.0f / (float)(pad ? g.kh * g.kw : inside);
}

template <int V>
__device__ static inline void mean(const cuda_tensor &from, const cuda_tensor &to,
                                   const pool_geometry &g, int32_t pad)
{
    CUDA_EACH(unit, g.b * g.oh * g.ow * (g.c / V))
    {
        const pool_place p = pool_place_of<V>(unit, g.oh, g.ow, g.c);
        const pool_window w = pool_window_at(&g, p.i, p.j);
        const float each = weight(g, w, pad);
        float y[V] = {};
        for (int64_t r = w.top; r < w.bottom; r++) {
            for (int64_t s = w.left; s < w.right; s++) {
                float x[V];
                cuda_load(from, ((p.b * g.h + r) * g.w + s) * g.c + p.k, x);
                for (int i = 0; i < V; i++)
                    y[i] += each * x[i];
            }
        }
        cuda_store(to, p.at, y);
    }
}

/* dx of a pixel: the sum over the windows that cover it. */
template <int V>
__device__ static inline void gradient(const cuda_tensor &from, const cuda_tensor &to,
                                       const pool_geometry &g, int32_t pad)
{
    CUDA_EACH(unit, g.b * g.h * g.w * (g.c / V))
    {
        const pool_place p = pool_place_of<V>(unit, g.h, g.w, g.c);
        const int64_t i_end = pool_end(p.i, g.sh, g.ph, g.oh);
        const int64_t j_end = pool_end(p.j, g.sw, g.pw, g.ow);
        float dx[V] = {};
        for (int64_t i = pool_first(p.i, g.kh, g.sh, g.ph); i < i_end; i++) {
            for (int64_t j = pool_first(p.j, g.kw, g.sw, g.pw); j < j_end; j++) {
                const float each = weight(g, pool_window_at(&g, i, j), pad);
                float dy[V];
                cuda_load(from, ((p.b * g.oh + i) * g.ow + j) * g.c + p.k, dy);
                for (int k = 0; k < V; k++)
                    dx[k] += each * dy[k];
            }
        }
        cuda_store(to, p.at, dx);
    }
}

POOL_KERNELS(avg_pool2d, mean, (cuda_tensor x, cuda_tensor y, pool_geometry g, int32_t pad),
             (x, y, g, pad));
POOL_KERNELS(avg_pool2d_grad, gradient,
             (cuda_tensor dy, cuda_tensor dx, pool_geometry g, int32_t pad), (dy, dx, g, pad));
