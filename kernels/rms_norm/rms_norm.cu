/* rms_norm.cu - RMS norm on the GPU: rows of any length by a team, a warp or a block. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/cuda/columns.cuh"
#include "common/cuda/rows.cuh"

#include "rms_norm/rms_norm_cuda.h"

/* Two reads, of which the cache serves one. */
CUDA_KERNEL(rms_norm_rows)(rms_norm_cuda_args a)
{
    CUDA_SHARED(float, shared, 32);
    const cuda_team t = cuda_team_of(a.whole, shared);
    for (int64_t r = t.first; r < a.rows; r += t.step) {
        const int64_t begin = r * a.n;
        float square = 0.0f;
        cuda_team_visit(t, begin, a.n, [&](int64_t k, auto width) {
            float x[decltype(width)::value];
            cuda_load(a.x, k, x);
            for (const float v : x)
                square += v * v;
        });
        const float rstd = 1.0f / sqrtf(cuda_team_sum(t, square) / (float)a.n + a.eps);
        cuda_team_visit(t, begin, a.n, [&](int64_t k, auto width) {
            constexpr int V = decltype(width)::value;
            float x[V];
            cuda_load(a.x, k, x);
            for (int i = 0; i < V; i++)
                x[i] = x[i] * rstd * cuda_get(a.gamma, k - begin + i);
            cuda_store(a.y, k, x);
        });
        if (t.rank == 0)
            cuda_set(a.rstd, r, rstd);
    }
}
CUDA_ENTRY(rms_norm_rows);

/* dx = rstd (d - xhat mean(d xhat)) with d = dy gamma; may lie where x, dy or more lay */
CUDA_KERNEL(rms_norm_grad_rows)(rms_norm_cuda_args a)
{
    CUDA_SHARED(float, shared, 32);
    const cuda_team t = cuda_team_of(a.whole, shared);
    for (int64_t r = t.first; r < a.rows; r += t.step) {
        const int64_t begin = r * a.n;
        const float rstd = cuda_get(a.rstd, r);
        float product = 0.0f;
        cuda_team_visit(t, begin, a.n, [&](int64_t k, auto width) {
            constexpr int V = decltype(width)::value;
            float x[V], dy[V];
            cuda_load(a.x, k, x);
            cuda_load(a.dy, k, dy);
            for (int i = 0; i < V; i++)
                product += dy[i] * cuda_get(a.gamma, k - begin + i) * (x[i] * rstd);
        });
        product = cuda_team_sum(t, product) / (float)a.n;
        cuda_team_visit(t, begin, a.n, [&](int64_t k, auto width) {
            constexpr int V = decltype(width)::value;
            float x[V], dy[V], more[V] = {};
            cuda_load(a.x, k, x);
            cuda_load(a.dy, k, dy);
            if (a.more.data)
                cuda_load(a.more, k, more);
            for (int i = 0; i < V; i++)
                x[i] =
                    rstd * (dy[i] * cuda_get(a.gamma, k - begin + i) - x[i] * rstd * product) +
                    more[i];
            cuda_store(a.y, k, x);
        });
    }
}
CUDA_ENTRY(rms_norm_grad_rows);

/* Sums for gamma: before dx, which may lie where x or dy lay.  The second sum of a column stays 0. */
template <int V> __device__ static inline void sums(const rms_norm_cuda_args &a, float *shared)
{
    cuda_column_sums<V>(a.sums, a.partials, shared,
                        [&](int64_t r, int64_t k, float(&dgamma)[V], float(&)[V]) {
                            const float rstd = cuda_get(a.rstd, r);
                            float x[V], dy[V];
                            cuda_load(a.x, r * a.n + k, x);
                            cuda_load(a.dy, r * a.n + k, dy);
                            for (int i = 0; i < V; i++)
                                dgamma[i] += dy[i] * (x[i] * rstd);
                        });
}

CUDA_KERNEL(rms_norm_grad_sums_1)(rms_norm_cuda_args a)
{
    CUDA_SHARED(float, shared, CUDA_COLUMNS_BLOCK * 2);
    sums<1>(a, shared);
}
CUDA_ENTRY(rms_norm_grad_sums_1);

CUDA_KERNEL(rms_norm_grad_sums_8)(rms_norm_cuda_args a)
{
    CUDA_SHARED(float, shared, CUDA_COLUMNS_BLOCK * 2 * 8);
    sums<8>(a, shared);
}
CUDA_ENTRY(rms_norm_grad_sums_8);

CUDA_KERNEL(rms_norm_grad_finish)(rms_norm_cuda_args a)
{
    CUDA_SHARED(double, shared, 512);
    cuda_column_finish(a.n, a.parts, a.partials, shared, [&](int64_t k, double dgamma, double) {
        cuda_set(a.dgamma, k, (float)dgamma);
    });
}
CUDA_ENTRY(rms_norm_grad_finish);
