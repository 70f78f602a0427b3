/* group_norm.cu - group norm on the GPU: a group of a sample is a warp's or a block's. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/cuda/columns.cuh"
#include "common/cuda/rows.cuh"

#include "group_norm/group_norm_cuda.h"

/* Calls f(element, channel) for each thread's share of row r. */
template <typename F>
__device__ static inline void visit(const group_norm_cuda_args &a, const cuda_team &t,
                                    int64_t r, F f)
{
    const int64_t first = r % a.groups * a.width;
    const int64_t begin = r / a.groups * a.pixels * a.channels;
    for (int64_t k = t.rank; k < a.pixels * a.width; k += t.size) {
        const int64_t c = first + k % a.width;
        f(begin + k / a.width * a.channels + c, c);
    }
}

__device__ static inline void statistics(const group_norm_cuda_args &a, const cuda_team &t,
                                         int64_t r, float *ret_mean, float *ret_rstd)
{
    const float n = (float)(a.pixels * a.width);
    float sum = 0.0f, square = 0.0f;
    visit(a, t, r, [&](int64_t k, int64_t) { sum += cuda_get(a.x, k); });
    const float mean = cuda_team_sum(t, sum) / n;
    visit(a, t, r, [&](int64_t k, int64_t) {
        const float d = cuda_get(a.x, k) - mean;
        square += d * d;
    });
    *ret_mean = mean;
    *ret_rstd = 1.0f / sqrtf(cuda_team_sum(t, square) / n + a.eps);
}

CUDA_KERNEL(group_norm_rows)(group_norm_cuda_args a)
{
    CUDA_SHARED(float, shared, 32);
    const cuda_team t = cuda_team_of(a.whole, shared);
    for (int64_t r = t.first; r < a.rows; r += t.step) {
        float mean, rstd;
        statistics(a, t, r, &mean, &rstd);
        visit(a, t, r, [&](int64_t k, int64_t c) {
            cuda_set(a.y, k,
                     (cuda_get(a.x, k) - mean) * rstd * cuda_get(a.gamma, c) +
                         cuda_get(a.beta, c));
        });
    }
}
CUDA_ENTRY(group_norm_rows);

/* dx, and the statistics for the sums behind it. */
CUDA_KERNEL(group_norm_grad_rows)(group_norm_cuda_args a)
{
    CUDA_SHARED(float, shared, 32);
    const cuda_team t = cuda_team_of(a.whole, shared);
    const float n = (float)(a.pixels * a.width);
    for (int64_t r = t.first; r < a.rows; r += t.step) {
        float mean, rstd, sum = 0.0f, product = 0.0f;
        statistics(a, t, r, &mean, &rstd);
        visit(a, t, r, [&](int64_t k, int64_t c) {
            const float d = cuda_get(a.dy, k) * cuda_get(a.gamma, c);
            sum += d;
            product += d * ((cuda_get(a.x, k) - mean) * rstd);
        });
        sum = cuda_team_sum(t, sum) / n;
        product = cuda_team_sum(t, product) / n;
        visit(a, t, r, [&](int64_t k, int64_t c) {
            const float d = cuda_get(a.dy, k) * cuda_get(a.gamma, c);
            cuda_set(a.y, k, rstd * (d - sum - (cuda_get(a.x, k) - mean) * rstd * product));
        });
        if (t.rank == 0) {
            a.statistics[2 * r] = mean;
            a.statistics[2 * r + 1] = rstd;
        }
    }
}
CUDA_ENTRY(group_norm_grad_rows);

template <int V>
__device__ static inline void sums(const group_norm_cuda_args &a, float *shared)
{
    cuda_column_sums<V>(a.sums, a.partials, shared,
                        [&](int64_t r, int64_t k, float(&dgamma)[V], float(&dbeta)[V]) {
                            const float *of = a.statistics + 2 * (r / a.pixels * a.groups);
                            float x[V], dy[V];
                            cuda_load(a.x, r * a.channels + k, x);
                            cuda_load(a.dy, r * a.channels + k, dy);
                            for (int i = 0; i < V; i++) {
                                const float *at = of + 2 * ((k + i) / a.width);
                                dgamma[i] += dy[i] * ((x[i] - at[0]) * at[1]);
                                dbeta[i] += dy[i];
                            }
                        });
}

CUDA_KERNEL(group_norm_grad_sums_1)(group_norm_cuda_args a)
{
    CUDA_SHARED(float, shared, CUDA_COLUMNS_BLOCK * 2);
    sums<1>(a, shared);
}
CUDA_ENTRY(group_norm_grad_sums_1);

CUDA_KERNEL(group_norm_grad_sums_8)(group_norm_cuda_args a)
{
    CUDA_SHARED(float, shared, CUDA_COLUMNS_BLOCK * 2 * 8);
    sums<8>(a, shared);
}
CUDA_ENTRY(group_norm_grad_sums_8);

CUDA_KERNEL(group_norm_grad_finish)(group_norm_cuda_args a)
{
    CUDA_SHARED(double, shared, 512);
    cuda_column_finish(a.channels, a.rows ? a.sums.parts : 0, a.partials, shared,
                       [&](int64_t k, double dgamma, double dbeta) {
                           cuda_set(a.dgamma, k, (float)dgamma);
                           cuda_set(a.dbeta, k, (float)dbeta);
                       });
}
CUDA_ENTRY(group_norm_grad_finish);
