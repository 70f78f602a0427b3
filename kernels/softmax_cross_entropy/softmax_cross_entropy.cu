/* softmax_cross_entropy.cu - cross entropy and its gradient on the GPU, a team of threads a row. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/cuda/softmax.cuh"

#include "softmax_cross_entropy/softmax_cross_entropy_cuda.h"

/* The class of row r, -1 when it counts for nothing; one out of range is told. */
__device__ static inline int64_t class_of(const xent_cuda_args &a, int64_t r, int rank)
{
    const int64_t k = a.target.dtype == TUTTI_I32
                          ? static_cast<const int32_t *>(a.target.data)[r]
                          : static_cast<const int64_t *>(a.target.data)[r];
    if (k != a.ignored && (k < 0 || k >= a.n) && rank == 0)
        *a.fault = a.mark;
    return k == a.ignored || k < 0 || k >= a.n ? -1 : k;
}

/* sum_n t_n (lse - z_n) */
CUDA_KERNEL(softmax_cross_entropy_rows)(xent_cuda_args a)
{
    CUDA_SHARED(float, shared, 32);
    const cuda_team t = cuda_team_of(a.whole, shared);
    for (int64_t r = t.first; r < a.rows; r += t.step) {
        const int64_t k = a.soft ? 0 : class_of(a, r, t.rank);
        float loss = 0.0f;
        if (k >= 0) {
            const softmax_seen s = softmax_of_row(t, a.logits, r * a.n, a.n);
            const float rest = logf(s.sum);
            if (a.soft) {
                cuda_team_visit(t, r * a.n, a.n, [&](int64_t at, auto width) {
                    constexpr int V = decltype(width)::value;
                    float z[V], weight[V];
                    cuda_load(a.logits, at, z);
                    cuda_load(a.target, at, weight);
                    for (int i = 0; i < V; i++)
                        loss += weight[i] * (rest + (s.max - z[i]));
                });
                loss = cuda_team_sum(t, loss);
            } else {
                loss = rest + (s.max - cuda_get(a.logits, r * a.n + k));
            }
        }
        if (t.rank == 0)
            cuda_set(a.out, r, loss);
    }
}
CUDA_ENTRY(softmax_cross_entropy_rows);

/* dz_n = dloss (softmax(z)_n sum t - t_n); dz may lie where z lay: each thread reads what it writes. */
CUDA_KERNEL(softmax_cross_entropy_grad_rows)(xent_cuda_args a)
{
    CUDA_SHARED(float, shared, 32);
    const cuda_team t = cuda_team_of(a.whole, shared);
    for (int64_t r = t.first; r < a.rows; r += t.step) {
        const int64_t begin = r * a.n, k = a.soft ? 0 : class_of(a, r, t.rank);
        const softmax_seen s = softmax_of_row(t, a.logits, begin, a.n);
        const float d = k < 0 ? 0.0f : cuda_get(a.dloss, r);
        float total = 1.0f;
        if (a.soft) {
            total = 0.0f;
            cuda_team_visit(t, begin, a.n, [&](int64_t at, auto width) {
                float weight[decltype(width)::value];
                cuda_load(a.target, at, weight);
                for (const float w : weight)
                    total += w;
            });
            total = cuda_team_sum(t, total);
        }
        const float scale = d * total / s.sum, shift = softmax_shift(s.max);
        cuda_team_visit(t, begin, a.n, [&](int64_t at, auto width) {
            constexpr int V = decltype(width)::value;
            float z[V], weight[V] = {};
            cuda_load(a.logits, at, z);
            if (a.soft)
                cuda_load(a.target, at, weight);
            for (int i = 0; i < V; i++) {
                const float target = a.soft ? weight[i] : at + i == begin + k ? 1.0f : 0.0f;
                z[i] = k < 0 ? 0.0f : scale * expf(z[i] - shift) - d * target;
            }
            cuda_store(a.out, at, z);
        });
    }
}
CUDA_ENTRY(softmax_cross_entropy_grad_rows);
