/* layer_norm.cu - layer norm on the GPU: rows in a warp's registers, or of any length by a team. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/cuda/columns.cuh"
#include "common/cuda/rows.cuh"

#include "layer_norm/layer_norm_cuda.h"

/* budget: layer_norm_held_8 registers=184: a row of 2048 in a warp, 64 numbers a thread */
/* budget: layer_norm_grad_held_3 registers=136: 24 numbers a thread of x, dy and two sums */
/* budget: layer_norm_grad_held_4 registers=192: 32 numbers a thread of x, dy and two sums */

/* ---- rows of any length: three reads, of which the cache serves two ---- */

CUDA_KERNEL(layer_norm_rows)(layer_norm_cuda_args a)
{
    CUDA_SHARED(float, shared, 32);
    const cuda_team t = cuda_team_of(a.whole, shared);
    for (int64_t r = t.first; r < a.rows; r += t.step) {
        const int64_t begin = r * a.n;
        float sum = 0.0f, square = 0.0f;
        cuda_team_visit(t, begin, a.n, [&](int64_t k, auto width) {
            float x[decltype(width)::value];
            cuda_load(a.x, k, x);
            for (const float v : x)
                sum += v;
        });
        const float mean = cuda_team_sum(t, sum) / (float)a.n;
        cuda_team_visit(t, begin, a.n, [&](int64_t k, auto width) {
            float x[decltype(width)::value];
            cuda_load(a.x, k, x);
            for (const float v : x)
                square += (v - mean) * (v - mean);
        });
        const float rstd = 1.0f / sqrtf(cuda_team_sum(t, square) / (float)a.n + a.eps);
        cuda_team_visit(t, begin, a.n, [&](int64_t k, auto width) {
            constexpr int V = decltype(width)::value;
            float x[V];
            cuda_load(a.x, k, x);
            for (int i = 0; i < V; i++)
                x[i] = (x[i] - mean) * rstd * cuda_get(a.gamma, k - begin + i) +
                       cuda_get(a.beta, k - begin + i);
            cuda_store(a.y, k, x);
        });
        if (t.rank == 0) {
            cuda_set(a.mean, r, mean);
            cuda_set(a.rstd, r, rstd);
        }
    }
}
CUDA_ENTRY(layer_norm_rows);

template <int V>
__device__ static inline void add_more(const layer_norm_cuda_args &a, int64_t k, float (&dx)[V])
{
    float more[V];
    if (!a.more.data)
        return;
    cuda_load(a.more, k, more);
    for (int i = 0; i < V; i++)
        dx[i] += more[i];
}

/* dx = rstd (d - mean(d) - xhat mean(d xhat)) with d = dy gamma; may lie where x or dy lay */
CUDA_KERNEL(layer_norm_grad_rows)(layer_norm_cuda_args a)
{
    CUDA_SHARED(float, shared, 32);
    const cuda_team t = cuda_team_of(a.whole, shared);
    for (int64_t r = t.first; r < a.rows; r += t.step) {
        const int64_t begin = r * a.n;
        const float mean = cuda_get(a.mean, r), rstd = cuda_get(a.rstd, r);
        float sum = 0.0f, product = 0.0f;
        cuda_team_visit(t, begin, a.n, [&](int64_t k, auto width) {
            constexpr int V = decltype(width)::value;
            float x[V], dy[V];
            cuda_load(a.x, k, x);
            cuda_load(a.dy, k, dy);
            for (int i = 0; i < V; i++) {
                const float d = dy[i] * cuda_get(a.gamma, k - begin + i);
                sum += d;
                product += d * ((x[i] - mean) * rstd);
            }
        });
        sum = cuda_team_sum(t, sum) / (float)a.n;
        product = cuda_team_sum(t, product) / (float)a.n;
        cuda_team_visit(t, begin, a.n, [&](int64_t k, auto width) {
            constexpr int V = decltype(width)::value;
            float x[V], dy[V];
            cuda_load(a.x, k, x);
            cuda_load(a.dy, k, dy);
            for (int i = 0; i < V; i++) {
                const float d = dy[i] * cuda_get(a.gamma, k - begin + i);
                x[i] = rstd * (d - sum - (x[i] - mean) * rstd * product);
            }
            add_more(a, k, x);
            cuda_store(a.y, k, x);
        });
    }
}
CUDA_ENTRY(layer_norm_grad_rows);

/* Sums for gamma and beta by themselves: before dx, which may lie where x or dy lay. */
template <int V>
__device__ static inline void sums(const layer_norm_cuda_args &a, float *shared)
{
    cuda_column_sums<V>(a.sums, a.partials, shared,
                        [&](int64_t r, int64_t k, float(&dgamma)[V], float(&dbeta)[V]) {
                            const float mean = cuda_get(a.mean, r), rstd = cuda_get(a.rstd, r);
                            float x[V], dy[V];
                            cuda_load(a.x, r * a.n + k, x);
                            cuda_load(a.dy, r * a.n + k, dy);
                            for (int i = 0; i < V; i++) {
                                dgamma[i] += dy[i] * ((x[i] - mean) * rstd);
                                dbeta[i] += dy[i];
                            }
                        });
}

CUDA_KERNEL(layer_norm_grad_sums_1)(layer_norm_cuda_args a)
{
    CUDA_SHARED(float, shared, CUDA_COLUMNS_BLOCK * 2);
    sums<1>(a, shared);
}
CUDA_ENTRY(layer_norm_grad_sums_1);

CUDA_KERNEL(layer_norm_grad_sums_8)(layer_norm_cuda_args a)
{
    CUDA_SHARED(float, shared, CUDA_COLUMNS_BLOCK * 2 * 8);
    sums<8>(a, shared);
}
CUDA_ENTRY(layer_norm_grad_sums_8);

CUDA_KERNEL(layer_norm_grad_finish)(layer_norm_cuda_args a)
{
    CUDA_SHARED(double, shared, 512);
    cuda_column_finish(a.n, a.parts, a.partials, shared,
                       [&](int64_t k, double dgamma, double dbeta) {
                           cuda_set(a.dgamma, k, (float)dgamma);
                           cuda_set(a.dbeta, k, (float)dbeta);
                       });
}
CUDA_ENTRY(layer_norm_grad_finish);

/* ---- rows that a warp holds: lane l has elements 256 j + 8 l to 256 j + 8 l + 7, j < R ---- */

/* Zeros beyond the row. */
template <int R>
__device__ static inline void hold(const cuda_tensor &t, int64_t begin, int64_t n, int lane,
                                   float (&x)[R][8])
{
#pragma unroll
    for (int j = 0; j < R; j++) {
        const int64_t k = 256 * j + 8 * lane;
        for (int i = 0; i < 8; i++)
            x[j][i] = 0.0f;
        if (k < n)
            cuda_load(t, begin + k, x[j]);
    }
}

template <int R> __device__ static inline void held(const layer_norm_cuda_args &a)
{
    const cuda_team t = cuda_team_of(0, nullptr);
    for (int64_t r = t.first; r < a.rows; r += t.step) {
        float x[R][8], sum = 0.0f, square = 0.0f;
        hold<R>(a.x, r * a.n, a.n, t.rank, x);
        for (int j = 0; j < R; j++)
            for (int i = 0; i < 8; i++)
                sum += x[j][i];
        const float mean = cuda_warp_sum(sum) / (float)a.n;
#pragma unroll
        for (int j = 0; j < R; j++)
            for (int i = 0; i < 8 && 256 * j + 8 * t.rank < a.n; i++)
                square += (x[j][i] - mean) * (x[j][i] - mean);
        const float rstd = 1.0f / sqrtf(cuda_warp_sum(square) / (float)a.n + a.eps);
#pragma unroll
        for (int j = 0; j < R; j++) {
            const int64_t k = 256 * j + 8 * t.rank;
            if (k >= a.n)
                continue;
            float gamma[8], beta[8];
            cuda_load(a.gamma, k, gamma);
            cuda_load(a.beta, k, beta);
            for (int i = 0; i < 8; i++)
                x[j][i] = (x[j][i] - mean) * rstd * gamma[i] + beta[i];
            cuda_store(a.y, r * a.n + k, x[j]);
        }
        if (t.rank == 0) {
            cuda_set(a.mean, r, mean);
            cuda_set(a.rstd, r, rstd);
        }
    }
}

/* One row's dx; its part of the sums for gamma and beta is added to the lane's own. */
template <int R>
__device__ static inline void grad_row(const layer_norm_cuda_args &a, int64_t r, int lane,
                                       float (&dgamma)[R][8], float (&dbeta)[R][8])
{
    const float mean = cuda_get(a.mean, r), rstd = cuda_get(a.rstd, r);
    float x[R][8], dy[R][8], sum = 0.0f, product = 0.0f;
    hold<R>(a.x, r * a.n, a.n, lane, x);
    hold<R>(a.dy, r * a.n, a.n, lane, dy);
#pragma unroll
    for (int j = 0; j < R; j++) {
        const int64_t k = 256 * j + 8 * lane;
        if (k >= a.n)
            continue;
        float gamma[8];
        cuda_load(a.gamma, k, gamma);
        for (int i = 0; i < 8; i++) {
            const float xhat = (x[j][i] - mean) * rstd;
            dgamma[j][i] += dy[j][i] * xhat;
            dbeta[j][i] += dy[j][i];
            dy[j][i] *= gamma[i];
            sum += dy[j][i];
            product += dy[j][i] * xhat;
        }
    }
    sum = cuda_warp_sum(sum) / (float)a.n;
    product = cuda_warp_sum(product) / (float)a.n;
#pragma unroll
    for (int j = 0; j < R; j++) {
        const int64_t k = 256 * j + 8 * lane;
        for (int i = 0; i < 8; i++)
            x[j][i] = rstd * (dy[j][i] - sum - (x[j][i] - mean) * rstd * product);
        if (k < a.n) {
            add_more(a, r * a.n + k, x[j]);
            cuda_store(a.y, r * a.n + k, x[j]);
        }
    }
}

/* dx and the block's part of dgamma and dbeta in one pass; the warps join theirs one after another. */
template <int R>
__device__ static inline void grad_held(const layer_norm_cuda_args &a, float *shared)
{
    const cuda_team t = cuda_team_of(0, nullptr);
    const int warps = (int)blockDim.x / 32, warp = (int)threadIdx.x / 32;
    float dgamma[R][8] = {}, dbeta[R][8] = {};
    for (int64_t r = t.first; r < a.rows; r += t.step)
        grad_row<R>(a, r, t.rank, dgamma, dbeta);
    for (int w = 0; w < warps; w++) {
        if (w == warp) {
#pragma unroll
            for (int j = 0; j < R; j++)
                for (int i = 0; i < 8; i++) {
                    const int k = (8 * j + i) * 32 + t.rank;
                    shared[k] = (w ? shared[k] : 0.0f) + dgamma[j][i];
                    shared[k + 256 * R] = (w ? shared[k + 256 * R] : 0.0f) + dbeta[j][i];
                }
        }
        __syncthreads();
    }
    float *to = a.partials + (int64_t)blockIdx.x * 2 * a.n;
    for (int k = (int)threadIdx.x; k < a.n; k += (int)blockDim.x) {
        const int at = (k / 256 * 8 + k % 8) * 32 + k % 256 / 8;
        to[k] = shared[at];
        to[a.n + k] = shared[at + 256 * R];
    }
}

#define HELD(R)                                                                                \
    CUDA_KERNEL(layer_norm_held_##R)(layer_norm_cuda_args a)                                   \
    {                                                                                          \
        held<R>(a);                                                                            \
    }                                                                                          \
    CUDA_ENTRY(layer_norm_held_##R)

#define GRAD_HELD(R)                                                                           \
    CUDA_KERNEL(layer_norm_grad_held_##R)(layer_norm_cuda_args a)                              \
    {                                                                                          \
        CUDA_SHARED(float, shared, 2 * 256 * R);                                               \
        grad_held<R>(a, shared);                                                               \
    }                                                                                          \
    CUDA_ENTRY(layer_norm_grad_held_##R)

HELD(1);
HELD(2);
HELD(3);
HELD(4);
HELD(8);
GRAD_HELD(1);
GRAD_HELD(2);
GRAD_HELD(3);
GRAD_HELD(4);
