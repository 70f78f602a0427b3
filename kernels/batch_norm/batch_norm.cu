/* batch_norm.cu - batch norm on the GPU: sums, then a number a channel, then one more sweep. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/cuda/columns.cuh"

#include "batch_norm/batch_norm_cuda.h"

/* (x - mean) scale + shift, fused alike in both directions, so that both see the same sign. */
__device__ static inline float line_at(float x, float mean, float scale, float shift)
{
    return fmaf(x - mean, scale, shift);
}

/* What both gradients take as dy. */
__device__ static inline float masked(int64_t act, float dy, float u)
{
    return act && !(u > 0.0f) ? 0.0f : dy;
}

template <int V>
__device__ static inline void load_channels(const float *from, int64_t k, float (&to)[V])
{
    for (int i = 0; i < V; i++)
        to[i] = from[k + i];
}

/* Sums of x - s and its square, where s is the first row: a mean far from zero does not drown the
 * variance. */
template <int V>
__device__ static inline void sums(const batch_norm_cuda_args &a, float *shared)
{
    float shift[V] = {};
    const int64_t k = cuda_place_of<V>(a.sums).k;
    if (a.sums.rows && k < a.sums.columns)
        cuda_load(a.x, k, shift);
    cuda_column_sums<V>(a.sums, a.partials, shared,
                        [&](int64_t r, int64_t at, float(&s)[V], float(&q)[V]) {
                            float x[V];
                            cuda_load(a.x, r * a.sums.columns + at, x);
                            for (int i = 0; i < V; i++) {
                                const float d = x[i] - shift[i];
                                s[i] += d;
                                q[i] = fmaf(d, d, q[i]);
                            }
                        });
}

/* y = act(line of x + residual); may lie where x or the residual lay */
template <int V> __device__ static inline void apply(const batch_norm_cuda_args &a)
{
    const cuda_place p = cuda_place_of<V>(a.apply);
    if (p.rows == 0)
        return;
    float mean[V], scale[V], shift[V];
    cuda_load(a.mean, p.k, mean);
    cuda_load(a.beta, p.k, shift);
    load_channels(a.scale, p.k, scale);
    for (int64_t r = p.first; r < p.rows; r += p.step) {
        const int64_t at = r * a.apply.columns + p.k;
        float x[V], more[V] = {};
        cuda_load(a.x, at, x);
        if (a.residual.data)
            cuda_load(a.residual, at, more);
        for (int i = 0; i < V; i++) {
            const float u = line_at(x[i], mean[i], scale[i], shift[i]) + more[i];
            x[i] = a.act && u < 0.0f ? 0.0f : u;
        }
        cuda_store(a.y, at, x);
    }
}

/* Sums of dy and dy (x - mean). */
template <int V>
__device__ static inline void grad_sums(const batch_norm_cuda_args &a, float *shared)
{
    float mean[V] = {}, scale[V] = {}, shift[V] = {};
    const int64_t k = cuda_place_of<V>(a.sums).k;
    if (k < a.sums.columns) {
        float gamma[V];
        cuda_load(a.mean, k, mean);
        cuda_load(a.invstd, k, scale);
        cuda_load(a.gamma, k, gamma);
        for (int i = 0; i < V; i++)
            scale[i] *= gamma[i];
        if (a.act)
            cuda_load(a.beta, k, shift);
    }
    cuda_column_sums<V>(a.sums, a.partials, shared,
                        [&](int64_t r, int64_t at, float(&s)[V], float(&q)[V]) {
                            float x[V], dy[V];
                            cuda_load(a.x, r * a.sums.columns + at, x);
                            cuda_load(a.dy, r * a.sums.columns + at, dy);
                            for (int i = 0; i < V; i++) {
                                const float u = line_at(x[i], mean[i], scale[i], shift[i]);
                                const float d = masked(a.act, dy[i], u);
                                s[i] += d;
                                q[i] = fmaf(d, x[i] - mean[i], q[i]);
                            }
                        });
}

/* dx = dy a + (x - mean) b + rest; may lie where x or dy lay */
template <int V> __device__ static inline void grad_apply(const batch_norm_cuda_args &a)
{
    const cuda_place p = cuda_place_of<V>(a.apply);
    const int64_t n = a.apply.columns;
    if (p.rows == 0)
        return;
    float mean[V], invstd[V], gamma[V], shift[V] = {}, by_dy[V], by_x[V], rest[V];
    cuda_load(a.mean, p.k, mean);
    cuda_load(a.invstd, p.k, invstd);
    cuda_load(a.gamma, p.k, gamma);
    if (a.act)
        cuda_load(a.beta, p.k, shift);
    load_channels(a.scale, p.k, by_dy);
    load_channels(a.scale + n, p.k, by_x);
    load_channels(a.scale + 2 * n, p.k, rest);
    for (int64_t r = p.first; r < p.rows; r += p.step) {
        float x[V], dy[V];
        cuda_load(a.x, r * n + p.k, x);
        cuda_load(a.dy, r * n + p.k, dy);
        for (int i = 0; i < V; i++) {
            const float u = line_at(x[i], mean[i], invstd[i] * gamma[i], shift[i]);
            x[i] = masked(a.act, dy[i], u) * by_dy[i] + (x[i] - mean[i]) * by_x[i] + rest[i];
        }
        cuda_store(a.y, r * n + p.k, x);
    }
}

/* The sweeps for 8 channels and for one a thread. */
#define SWEEPS(V)                                                                              \
    CUDA_KERNEL(batch_norm_sums_##V)(batch_norm_cuda_args a)                                   \
    {                                                                                          \
        CUDA_SHARED(float, shared, CUDA_COLUMNS_BLOCK * 2 * V);                                \
        sums<V>(a, shared);                                                                    \
    }                                                                                          \
    CUDA_ENTRY(batch_norm_sums_##V);                                                           \
    CUDA_KERNEL(batch_norm_apply_##V)(batch_norm_cuda_args a)                                  \
    {                                                                                          \
        apply<V>(a);                                                                           \
    }                                                                                          \
    CUDA_ENTRY(batch_norm_apply_##V);                                                          \
    CUDA_KERNEL(batch_norm_grad_sums_##V)(batch_norm_cuda_args a)                              \
    {                                                                                          \
        CUDA_SHARED(float, shared, CUDA_COLUMNS_BLOCK * 2 * V);                                \
        grad_sums<V>(a, shared);                                                               \
    }                                                                                          \
    CUDA_ENTRY(batch_norm_grad_sums_##V);                                                      \
    CUDA_KERNEL(batch_norm_grad_apply_##V)(batch_norm_cuda_args a)                             \
    {                                                                                          \
        grad_apply<V>(a);                                                                      \
    }                                                                                          \
    CUDA_ENTRY(batch_norm_grad_apply_##V)

SWEEPS(1);
SWEEPS(8);

/* Statistics out of the sums.  What the gradient will read counts, rounded as it is stored. */
CUDA_KERNEL(batch_norm_finish)(batch_norm_cuda_args a)
{
    CUDA_SHARED(double, shared, 512);
    const double count = a.sums.rows ? (double)a.sums.rows : 1.0;
    cuda_column_finish(
        a.sums.columns, a.sums.rows ? a.sums.parts : 0, a.partials, shared,
        [&](int64_t k, double sum, double square) {
            const double shift = a.sums.rows ? (double)cuda_get(a.x, k) : 0.0;
            const double off = sum / count, mean = shift + off;
            const double raw = square / count - off * off, var = raw < 0.0 ? 0.0 : raw;
            cuda_set(a.mean, k, (float)mean);
            cuda_set(a.invstd, k, (float)(1.0 / sqrt(var + a.eps)));
            a.scale[k] = cuda_get(a.invstd, k) * cuda_get(a.gamma, k);
            const double kept = 1.0 - a.momentum;
            const double m = (double)cuda_get(a.old_mean, k),
                         v = (double)cuda_get(a.old_var, k);
            cuda_set(a.new_mean, k, (float)(kept * m + a.momentum * mean));
            cuda_set(a.new_var, k, (float)(kept * v + a.momentum * var * a.unbiased));
        });
}
CUDA_ENTRY(batch_norm_finish);

CUDA_KERNEL(batch_norm_grad_finish)(batch_norm_cuda_args a)
{
    CUDA_SHARED(double, shared, 512);
    const int64_t n = a.sums.columns;
    const double each = a.sums.rows ? 1.0 / (double)a.sums.rows : 0.0;
    cuda_column_finish(n, a.sums.rows ? a.sums.parts : 0, a.partials, shared,
                       [&](int64_t k, double sum, double product) {
                           const double invstd = (double)cuda_get(a.invstd, k);
                           const double by_dy = (double)cuda_get(a.gamma, k) * invstd;
                           cuda_set(a.dgamma, k, (float)(product * invstd));
                           cuda_set(a.dbeta, k, (float)sum);
                           a.scale[k] = (float)by_dy;
                           a.scale[n + k] = (float)(-by_dy * invstd * invstd * product * each);
                           a.scale[2 * n + k] = (float)(-by_dy * sum * each);
                       });
}
CUDA_ENTRY(batch_norm_grad_finish);

/* scale = gamma (var + eps)^-1/2 of given statistics */
CUDA_KERNEL(batch_norm_scale)(batch_norm_cuda_args a)
{
    CUDA_EACH(k, a.apply.columns)
    {
        const double var = (double)cuda_get(a.old_var, k);
        a.scale[k] = (float)((double)cuda_get(a.gamma, k) / sqrt(var + a.eps));
    }
}
CUDA_ENTRY(batch_norm_scale);

/* The same out of what training left. */
CUDA_KERNEL(batch_norm_scale_saved)(batch_norm_cuda_args a)
{
    CUDA_EACH(k, a.apply.columns)
    {
        a.scale[k] = cuda_get(a.invstd, k) * cuda_get(a.gamma, k);
    }
}
CUDA_ENTRY(batch_norm_scale_saved);
