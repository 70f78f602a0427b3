/* layer_norm.cu - layer norm on the GPU: rows in a warp's registers, or of any length by a team. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/cuda/columns.cuh"
#include "common/cuda/rows.cuh"

#include "layer_norm/layer_norm_cuda.h"

/* budget: layer_norm_held_8 registers=184: a row of 2048 in a warp, 64 numbers a thread */
/* budget: layer_norm_grad_held_2 registers=168: for sm_100 and newer; the same as rows of 768 */
/* budget: layer_norm_grad_held_2_f32 registers=168: for sm_100 and newer */
/* budget: layer_norm_grad_held_3 registers=168: x, dy, two sums and what is added, two blocks of 192 */
/* budget: layer_norm_grad_held_4 registers=255: the same for rows of 1024, one block of 256 */
/* budget: layer_norm_grad_held_3_f32 registers=168 stack=32 spills=56: the same; spills for sm_100 and newer alone */
/* budget: layer_norm_grad_held_4_f32 registers=255: the same for rows of 1024, one block of 256 */
/* budget: layer_norm_grad_held_2_bf16 registers=168: x, dy, two sums and what is added, two blocks of 192 */
/* budget: layer_norm_grad_held_3_bf16 registers=168 stack=8 spills=16: the same; spills for sm_120 alone */
/* budget: layer_norm_grad_held_4_bf16 registers=255: the same for rows of 1024, one block of 256 */

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
            if (a.low.data)
                cuda_store(a.low, k, x);
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
            if (a.low.data)
                cuda_store(a.low, k, x);
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
            if (a.low.data)
                cuda_store(a.low, r * a.n + k, x[j]);
        }
        if (t.rank == 0) {
            cuda_set(a.mean, r, mean);
            cuda_set(a.rstd, r, rstd);
        }
    }
}

/* ---- gradients of held rows: lane l has elements 128 j + 4 l to 128 j + 4 l + 3, j < C, so that a warp's F32 lie
 * together.  D is dy's dtype and all else is F32; below 0 each is as it comes. ---- */

/* Zeros beyond the row. */
template <int C, int D>
__device__ static inline void hold_packed(const cuda_tensor &t, int64_t begin, int64_t n,
                                          int lane, cuda_packed<4, D> (&x)[C])
{
#pragma unroll
    for (int j = 0; j < C; j++) {
        x[j] = {};
        if (128 * j + 4 * lane < n)
            x[j].load(t, begin + 128 * j + 4 * lane);
    }
}

/* One row's dx; its part of the sums for gamma and beta is added to the lane's own.  All loads are under
 * way before the first is used, those of what is added too where registers suffice. */
template <int C, int D>
__device__ static inline void grad_row(const layer_norm_cuda_args &a, int64_t r, int lane,
                                       float (&dgamma)[C][4], float (&dbeta)[C][4])
{
    constexpr int rest = D < 0 ? D : (int)TUTTI_F32;
    constexpr bool early = D == TUTTI_BF16;
    const int64_t added = a.more.data ? a.n : 0;
    const float mean = cuda_get(cuda_typed<rest>(a.mean), r);
    const float rstd = cuda_get(cuda_typed<rest>(a.rstd), r);
    cuda_packed<4, rest> x[C], more[C];
    cuda_packed<4, D> dy[C];
    float sum = 0.0f, product = 0.0f, d[C][4];
    hold_packed(a.x, r * a.n, a.n, lane, x);
    hold_packed(a.dy, r * a.n, a.n, lane, dy);
    if constexpr (early)
        hold_packed(a.more, r * a.n, added, lane, more);
#pragma unroll
    for (int j = 0; j < C; j++) {
        float gamma[4] = {};
        if (128 * j + 4 * lane < a.n)
            cuda_load(cuda_typed<rest>(a.gamma), 128 * j + 4 * lane, gamma);
        for (int i = 0; i < 4; i++) {
            const float xhat = (x[j].at(i) - mean) * rstd;
            dgamma[j][i] += dy[j].at(i) * xhat;
            dbeta[j][i] += dy[j].at(i);
            d[j][i] = dy[j].at(i) * gamma[i];
            sum += d[j][i];
            product += d[j][i] * xhat;
        }
    }
    sum = cuda_warp_sum(sum) / (float)a.n;
    product = cuda_warp_sum(product) / (float)a.n;
    for (int j = 0; j < C; j++)
        for (int i = 0; i < 4; i++)
            d[j][i] = rstd * (d[j][i] - sum - (x[j].at(i) - mean) * rstd * product);
    if constexpr (!early)
        hold_packed(a.more, r * a.n, added, lane, more);
#pragma unroll
    for (int j = 0; j < C; j++) {
        for (int i = 0; i < 4; i++)
            d[j][i] += more[j].at(i);
        if (128 * j + 4 * lane >= a.n)
            continue;
        cuda_store(cuda_typed<rest>(a.y), r * a.n + 128 * j + 4 * lane, d[j]);
        if (a.low.data)
            cuda_store(a.low, r * a.n + 128 * j + 4 * lane, d[j]);
    }
}

/* dx and the block's part of dgamma and dbeta in one pass; the warps join theirs one after another. */
template <int C, int D>
__device__ static inline void grad_held(const layer_norm_cuda_args &a, float *shared)
{
    const cuda_team t = cuda_team_of(0, nullptr);
    const int warps = (int)blockDim.x / 32, warp = (int)threadIdx.x / 32;
    float dgamma[C][4] = {}, dbeta[C][4] = {};
    for (int64_t r = t.first; r < a.rows; r += t.step)
        grad_row<C, D>(a, r, t.rank, dgamma, dbeta);
    for (int w = 0; w < warps; w++) {
        if (w == warp) {
#pragma unroll
            for (int j = 0; j < C; j++)
                for (int i = 0; i < 4; i++) {
                    const int k = (4 * j + i) * 32 + t.rank;
                    shared[k] = (w ? shared[k] : 0.0f) + dgamma[j][i];
                    shared[k + 128 * C] = (w ? shared[k + 128 * C] : 0.0f) + dbeta[j][i];
                }
        }
        __syncthreads();
    }
    float *to = a.partials + (int64_t)blockIdx.x * 2 * a.n;
    for (int k = (int)threadIdx.x; k < a.n; k += (int)blockDim.x) {
        const int at = (k / 128 * 4 + k % 4) * 32 + k % 128 / 4;
        to[k] = shared[at];
        to[a.n + k] = shared[at + 128 * C];
    }
}

#define HELD(R)                                                                                \
    CUDA_KERNEL(layer_norm_held_##R)(layer_norm_cuda_args a)                                   \
    {                                                                                          \
        held<R>(a);                                                                            \
    }                                                                                          \
    CUDA_ENTRY(layer_norm_held_##R)

/* `blocks` of `threads` are what a multiprocessor holds. */
#define GRAD_HELD(name, R, D, threads, blocks)                                                 \
    CUDA_KERNEL(__launch_bounds__(threads, blocks) name)(layer_norm_cuda_args a)               \
    {                                                                                          \
        CUDA_SHARED(float, shared, 2 * 256 * R);                                               \
        grad_held<2 * R, D>(a, shared);                                                        \
    }                                                                                          \
    CUDA_ENTRY(name)

HELD(1);
HELD(2);
HELD(3);
HELD(4);
HELD(8);
GRAD_HELD(layer_norm_grad_held_1, 1, -1, LAYER_NORM_GRAD_BLOCK, 2);
GRAD_HELD(layer_norm_grad_held_2, 2, -1, LAYER_NORM_GRAD_BLOCK, 2);
GRAD_HELD(layer_norm_grad_held_3, 3, -1, LAYER_NORM_GRAD_BLOCK, 2);
GRAD_HELD(layer_norm_grad_held_4, 4, -1, LAYER_NORM_GRAD_BLOCK_4, 1);
GRAD_HELD(layer_norm_grad_held_1_f32, 1, TUTTI_F32, LAYER_NORM_GRAD_BLOCK, 2);
GRAD_HELD(layer_norm_grad_held_2_f32, 2, TUTTI_F32, LAYER_NORM_GRAD_BLOCK, 2);
GRAD_HELD(layer_norm_grad_held_3_f32, 3, TUTTI_F32, LAYER_NORM_GRAD_BLOCK, 2);
GRAD_HELD(layer_norm_grad_held_4_f32, 4, TUTTI_F32, LAYER_NORM_GRAD_BLOCK_4, 1);
GRAD_HELD(layer_norm_grad_held_1_bf16, 1, TUTTI_BF16, LAYER_NORM_GRAD_BLOCK, 2);
GRAD_HELD(layer_norm_grad_held_2_bf16, 2, TUTTI_BF16, LAYER_NORM_GRAD_BLOCK, 2);
GRAD_HELD(layer_norm_grad_held_3_bf16, 3, TUTTI_BF16, LAYER_NORM_GRAD_BLOCK, 2);
GRAD_HELD(layer_norm_grad_held_4_bf16, 4, TUTTI_BF16, LAYER_NORM_GRAD_BLOCK_4, 1);
