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

/* Elements [at, at + V) of t: at once where they lie at a multiple of V. */
template <int V>
__device__ static inline void row_load(const cuda_tensor &t, int64_t at, float (&x)[V])
{
    if (at % V == 0)
        cuda_load(t, at, x);
    else
        for (int i = 0; i < V; i++)
            x[i] = cuda_get(t, at + i);
}

template <int V>
__device__ static inline void row_store(const cuda_tensor &t, int64_t at, const float (&x)[V])
{
    if (at % V == 0)
        cuda_store(t, at, x);
    else
        for (int i = 0; i < V; i++)
            cuda_set(t, at + i, x[i]);
}

/* Calls f(k, width) so that columns [0, n) of a row are each thread's share, eight at a time and the last ones one by
 * one.  Shares depend on n alone, wherever the row lies, so that sums are those of logits without a pitch. */
template <typename F>
__device__ static inline void visit_row(const cuda_team &t, int64_t n, F f)
{
    const int64_t last = n / 8 * 8;
    for (int64_t k = 8 * t.rank; k < last; k += 8 * t.size)
        f(k, cuda_width<8>());
    if (last + t.rank < n)
        f(last + t.rank, cuda_width<1>());
}

/* Elements that were loaded from a row go into shared memory as they were; k is a multiple of V. */
template <int V>
__device__ static inline void row_keep(const cuda_tensor &kept, int64_t k, const float (&x)[V])
{
    if (kept.dtype == TUTTI_F32) {
        float *to = static_cast<float *>(kept.data) + k;
        for (int i = 0; i < V; i++)
            to[i] = x[i];
    } else {
        uint16_t *to = static_cast<uint16_t *>(kept.data) + k;
        if constexpr (V == 1)
            to[0] = (uint16_t)cuda_narrow(x[0], kept.dtype);
        else
            for (int i = 0; i < V; i += 2)
                *reinterpret_cast<uint32_t *>(to + i) =
                    cuda_narrow(x[i], kept.dtype) | cuda_narrow(x[i + 1], kept.dtype) << 16;
    }
}

/* Two loads are under way at a time.  `kept`: where the row is put as it is read; no data: nowhere. */
__device__ static inline softmax_seen logits_of_row(const xent_cuda_args &a, const cuda_team &t,
                                                    int64_t begin, const cuda_tensor &kept)
{
    softmax_seen s = {-INFINITY, 0.0f};
    const int64_t last = a.n / 8 * 8, next = 8 * (int64_t)t.size;
    for (int64_t k = 8 * t.rank; k < last; k += 2 * next) {
        float z[8], more[8];
        row_load(a.logits, begin + k, z);
        if (k + next < last)
            row_load(a.logits, begin + k + next, more);
        if (kept.data)
            row_keep(kept, k, z);
        softmax_see(s, z);
        if (k + next >= last)
            break;
        if (kept.data)
            row_keep(kept, k + next, more);
        softmax_see(s, more);
    }
    if (last + t.rank < a.n) {
        const float z[1] = {cuda_get(a.logits, begin + last + t.rank)};
        if (kept.data)
            row_keep(kept, last + t.rank, z);
        softmax_see(s, z);
    }
    return softmax_join(t, s);
}

/* sum_n t_n (lse - z_n) */
CUDA_KERNEL(softmax_cross_entropy_rows)(xent_cuda_args a)
{
    CUDA_SHARED(float, shared, 32);
    const cuda_team t = cuda_team_of(a.whole, shared);
    for (int64_t r = t.first; r < a.rows; r += t.step) {
        const int64_t begin = r * a.pitch, k = a.soft ? 0 : class_of(a, r, t.rank);
        float loss = 0.0f;
        if (k >= 0) {
            const softmax_seen s = logits_of_row(a, t, begin, {nullptr, TUTTI_F32, 0});
            const float rest = logf(s.sum);
            if (a.soft) {
                visit_row(t, a.n, [&](int64_t j, auto width) {
                    constexpr int V = decltype(width)::value;
                    float z[V], weight[V];
                    row_load(a.logits, begin + j, z);
                    row_load(a.target, r * a.n + j, weight);
                    for (int i = 0; i < V; i++)
                        loss += weight[i] * (rest + (s.max - z[i]));
                });
                loss = cuda_team_sum(t, loss);
            } else {
                loss = rest + (s.max - cuda_get(a.logits, begin + k));
            }
        }
        if (t.rank == 0)
            cuda_set(a.out, r, loss);
    }
}
CUDA_ENTRY(softmax_cross_entropy_rows);

/* What the weights of row r add up to. */
__device__ static inline float weights_of_row(const xent_cuda_args &a, const cuda_team &t,
                                              int64_t r)
{
    float total = 0.0f;
    visit_row(t, a.n, [&](int64_t j, auto width) {
        float weight[decltype(width)::value];
        row_load(a.target, r * a.n + j, weight);
        for (const float w : weight)
            total += w;
    });
    return cuda_team_sum(t, total);
}

/* dz_n = dloss (softmax(z)_n sum t - t_n); dz may lie where z lay: each thread reads what it writes, out of `kept` where
 * there is one. */
__device__ static inline void grad_of_rows(const xent_cuda_args &a, const cuda_team &t,
                                           const cuda_tensor &kept)
{
    for (int64_t r = t.first; r < a.rows; r += t.step) {
        const int64_t begin = r * a.pitch, k = a.soft ? 0 : class_of(a, r, t.rank);
        const softmax_seen s = logits_of_row(a, t, begin, kept);
        const float d = k < 0 ? 0.0f : cuda_get(a.dloss, r);
        const float total = a.soft ? weights_of_row(a, t, r) : 1.0f;
        const float scale = d * total / s.sum, shift = softmax_shift(s.max);
        visit_row(t, a.n, [&](int64_t j, auto width) {
            constexpr int V = decltype(width)::value;
            float z[V], weight[V] = {};
            if (kept.data)
                row_load(kept, j, z);
            else
                row_load(a.logits, begin + j, z);
            if (a.soft)
                row_load(a.target, r * a.n + j, weight);
            for (int i = 0; i < V; i++) {
                const float target = a.soft ? weight[i] : j + i == k ? 1.0f : 0.0f;
                z[i] = k < 0 ? 0.0f : scale * expf(z[i] - shift) - d * target;
            }
            row_store(a.out, begin + j, z);
        });
        for (int64_t j = a.n + t.rank; j < a.pitch; j += t.size)
            cuda_set(a.out, begin + j, 0.0f);
    }
}

CUDA_KERNEL(softmax_cross_entropy_grad_rows)(xent_cuda_args a)
{
    CUDA_SHARED(float, shared, 32);
    grad_of_rows(a, cuda_team_of(a.whole, shared), {nullptr, TUTTI_F32, 0});
}
CUDA_ENTRY(softmax_cross_entropy_grad_rows);

/* The same for rows that a block keeps: device memory is read once and not twice. */
CUDA_KERNEL(__launch_bounds__(XENT_GRAD_BLOCK, 2) softmax_cross_entropy_grad_kept)
(xent_cuda_args a)
{
    CUDA_SHARED(float, shared, 32);
    CUDA_DYNAMIC_SHARED(float4, row);
    grad_of_rows(a, cuda_team_of(1, shared), {row, a.logits.dtype, 0});
}
CUDA_ENTRY(softmax_cross_entropy_grad_kept);
