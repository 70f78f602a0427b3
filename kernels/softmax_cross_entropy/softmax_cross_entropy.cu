/* softmax_cross_entropy.cu - cross entropy, its gradient, and both at once on the GPU, a team of threads a row. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/cuda/columns.cuh"
#include "common/cuda/softmax.cuh"

#include "softmax_cross_entropy/softmax_cross_entropy_cuda.h"

/* What the targets say of row r: a class. */
__device__ static inline int64_t class_at(const xent_cuda_args &a, int64_t r)
{
    return a.target.dtype == TUTTI_I32 ? static_cast<const int32_t *>(a.target.data)[r]
                                       : static_cast<const int64_t *>(a.target.data)[r];
}

/* Class k, -1 when its row counts for nothing; one out of range is told. */
__device__ static inline int64_t class_of(const xent_cuda_args &a, int64_t k, int rank)
{
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
            to[0] = (uint16_t)cuda_downcast(x[0], kept.dtype);
        else
            for (int i = 0; i < V; i += 2)
                *reinterpret_cast<uint32_t *>(to + i) =
                    cuda_downcast_two(x[i], x[i + 1], kept.dtype);
    }
}

/* ---- D is the dtype of logits whose rows start at multiples of eight; below 0 they are as they come.  Sums are the same
 * either way. ---- */

/* exp(x - shift), as good as a product in F32 and the device's own power of two. */
__device__ static inline float exp_of(float x, float shift)
{
    return cuda_exp2((x - shift) * 1.44269504f);
}

/* softmax_see with exp_of. */
template <int V> __device__ static inline void see(softmax_seen &s, const float (&x)[V])
{
    float max = s.max;
    for (int k = 0; k < V; k++)
        max = fmaxf(max, x[k]);
    const float shift = softmax_shift(max);
    if (max > s.max)
        s.sum *= exp_of(s.max, shift);
    s.max = max;
    for (int k = 0; k < V; k++)
        s.sum += exp_of(x[k], shift);
}

template <int D>
__device__ static inline cuda_packed<8, D> eight_at(const cuda_tensor &t, int64_t at)
{
    cuda_packed<8, D> some;
    if constexpr (D < 0)
        row_load(t, at, some.x);
    else
        some.load(t, at);
    return some;
}

template <int D>
__device__ static inline void keep_eight(const cuda_tensor &kept, int64_t k,
                                         const cuda_packed<8, D> &some)
{
    if constexpr (D < 0)
        row_keep(kept, k, some.x);
    else
        *reinterpret_cast<cuda_words<4> *>(static_cast<uint16_t *>(kept.data) + k) = some.x;
}

/* A thread's columns, eight at a time; visit_row's. */
__device__ static inline cuda_strided_range eights_of(const cuda_team &t, int64_t n)
{
    return {8 * (int64_t)t.rank, 8 * (int64_t)t.size, n / 8 * 8};
}

/* `kept`: where the row is put as it is read, where KEEP. */
template <int D, bool KEEP>
__device__ static inline softmax_seen see_row(const xent_cuda_args &a, const cuda_team &t,
                                              int64_t begin, const cuda_tensor &kept)
{
    const int64_t at = a.n / 8 * 8 + t.rank;
    softmax_seen s = {-INFINITY, 0.0f};
    cuda_each_row<(D < 0 ? 2 : 4)>(
        eights_of(t, a.n), [&](int64_t k) { return eight_at<D>(a.logits, begin + k); },
        [&](int64_t k, const cuda_packed<8, D> &some) {
            float z[8];
            for (int i = 0; i < 8; i++)
                z[i] = some.at(i);
            if constexpr (KEEP)
                keep_eight<D>(kept, k, some);
            see(s, z);
        });
    if (at < a.n) {
        const float z[1] = {cuda_get(a.logits, begin + at)};
        if constexpr (KEEP)
            row_keep(kept, at, z);
        see(s, z);
    }
    return softmax_join(t, s);
}

__device__ static inline bool rows_are_bf16(const xent_cuda_args &a)
{
    return a.logits.dtype == TUTTI_BF16 && a.pitch % 8 == 0;
}

/* sum_n t_n (lse - z_n) of soft targets; row r of the logits begins at `begin` of z.  Each thread reads its own columns. */
__device__ static inline float soft_loss(const xent_cuda_args &a, const cuda_team &t, int64_t r,
                                         const softmax_seen &s, const cuda_tensor &z,
                                         int64_t begin)
{
    const float rest = logf(s.sum);
    float loss = 0.0f;
    visit_row(t, a.n, [&](int64_t j, auto width) {
        constexpr int V = decltype(width)::value;
        float some[V], weight[V];
        row_load(z, begin + j, some);
        row_load(a.target, r * a.n + j, weight);
        for (int i = 0; i < V; i++)
            loss += weight[i] * (rest + (s.max - some[i]));
    });
    return cuda_team_sum(t, loss);
}

/* The same of a class. */
__device__ static inline float class_loss(const softmax_seen &s, float z)
{
    return logf(s.sum) + (s.max - z);
}

CUDA_KERNEL(softmax_cross_entropy_rows)(xent_cuda_args a)
{
    CUDA_SHARED(float, shared, 32);
    const cuda_team t = cuda_team_of(a.whole, shared);
    for (int64_t r = t.first; r < a.rows; r += t.step) {
        const int64_t begin = r * a.pitch, k = a.soft ? 0 : class_of(a, class_at(a, r), t.rank);
        float loss = 0.0f;
        if (k >= 0) {
            const softmax_seen s = rows_are_bf16(a)
                                       ? see_row<TUTTI_BF16, false>(a, t, begin, {})
                                       : see_row<-1, false>(a, t, begin, {});
            loss = a.soft ? soft_loss(a, t, r, s, a.logits, begin)
                          : class_loss(s, cuda_get(a.logits, begin + k));
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

/* What a row's gradient is made of; k < 0: it counts for nothing. */
struct xent_row {
    int64_t begin, weights, k;
    float scale, shift, d;
};

/* Logits from column j on become their gradient. */
template <int V>
__device__ static inline void grad_of(const xent_cuda_args &a, const xent_row &q, int64_t j,
                                      float (&z)[V])
{
    for (int i = 0; i < V; i++)
        z[i] = q.k < 0 ? 0.0f : q.scale * exp_of(z[i], q.shift);
    if (a.soft) {
        float weight[V];
        row_load(a.target, q.weights + j, weight);
        for (int i = 0; i < V; i++)
            z[i] = fmaf(-q.d, weight[i], z[i]);
    } else if (q.k >= j && q.k < j + V) {
        for (int i = 0; i < V; i++)
            z[i] -= j + i == q.k ? q.d : 0.0f;
    }
}

/* dz_n = dloss (softmax(z)_n sum t - t_n); dz may lie where z lay: each thread reads what it writes, out of `kept` where
 * there is one. */
template <int D, bool KEEP>
__device__ static inline void write_row(const xent_cuda_args &a, const cuda_team &t,
                                        const xent_row &q, const cuda_tensor &kept)
{
    const int64_t at = a.n / 8 * 8 + t.rank;
    const cuda_tensor &from = KEEP ? kept : a.logits;
    const int64_t begin = KEEP ? 0 : q.begin;
    cuda_each_row<(D < 0 ? 1 : 2)>(
        eights_of(t, a.n), [&](int64_t j) { return eight_at<D>(from, begin + j); },
        [&](int64_t j, const cuda_packed<8, D> &some) {
            float z[8];
            for (int i = 0; i < 8; i++)
                z[i] = some.at(i);
            grad_of(a, q, j, z);
            if constexpr (D < 0)
                row_store(a.out, q.begin + j, z);
            else
                cuda_store(cuda_typed<D>(a.out), q.begin + j, z);
        });
    if (at < a.n) {
        float z[1] = {cuda_get(from, begin + at)};
        grad_of(a, q, at, z);
        cuda_set(a.out, q.begin + at, z[0]);
    }
    for (int64_t j = a.n + t.rank; j < a.pitch; j += t.size)
        cuda_set(a.out, q.begin + j, 0.0f);
}

/* The loss of row r, of class k, beside its gradient, which may lie where the logits lie: the thread that will write the
 * class's column reads it before. */
template <bool KEEP>
__device__ static inline void write_loss(const xent_cuda_args &a, const cuda_team &t, int64_t r,
                                         int64_t k, const softmax_seen &s,
                                         const cuda_tensor &kept)
{
    const cuda_tensor &z = KEEP ? kept : a.logits;
    const int64_t begin = KEEP ? 0 : r * a.pitch, last = a.n / 8 * 8;
    if (a.soft) {
        const float loss = soft_loss(a, t, r, s, z, begin);
        if (t.rank == 0)
            cuda_set(a.loss, r, loss);
    } else if (k < 0) {
        if (t.rank == 0)
            cuda_set(a.loss, r, 0.0f);
    } else if (t.rank == (k < last ? k / 8 % t.size : k - last)) {
        cuda_set(a.loss, r, class_loss(s, cuda_get(z, begin + k)));
    }
}

template <int D, bool KEEP, bool LOSS>
__device__ static inline void grad_typed(const xent_cuda_args &a, const cuda_team &t,
                                         const cuda_tensor &kept)
{
    for (int64_t r = t.first; r < a.rows; r += t.step) {
        const int64_t target = a.soft ? 0 : class_at(a, r);
        const float dloss = cuda_get(a.dloss, r);
        const softmax_seen s = see_row<D, KEEP>(a, t, r * a.pitch, kept);
        const float total = a.soft ? weights_of_row(a, t, r) : 1.0f;
        const int64_t k = a.soft ? 0 : class_of(a, target, t.rank);
        const float d = k < 0 ? 0.0f : dloss;
        const xent_row q = {r * a.pitch,          r * a.n, k, d * total / s.sum,
                            softmax_shift(s.max), d};
        if constexpr (LOSS)
            write_loss<KEEP>(a, t, r, k, s, kept);
        write_row<D, KEEP>(a, t, q, kept);
    }
}

template <bool KEEP, bool LOSS>
__device__ static inline void grad_of_rows(const xent_cuda_args &a, const cuda_team &t,
                                           const cuda_tensor &kept)
{
    if (rows_are_bf16(a) && a.out.dtype == TUTTI_BF16)
        grad_typed<TUTTI_BF16, KEEP, LOSS>(a, t, kept);
    else
        grad_typed<-1, KEEP, LOSS>(a, t, kept);
}

CUDA_KERNEL(softmax_cross_entropy_grad_rows)(xent_cuda_args a)
{
    CUDA_SHARED(float, shared, 32);
    grad_of_rows<false, false>(a, cuda_team_of(a.whole, shared), {});
}
CUDA_ENTRY(softmax_cross_entropy_grad_rows);

CUDA_KERNEL(softmax_cross_entropy_and_grad_rows)(xent_cuda_args a)
{
    CUDA_SHARED(float, shared, 32);
    grad_of_rows<false, true>(a, cuda_team_of(a.whole, shared), {});
}
CUDA_ENTRY(softmax_cross_entropy_and_grad_rows);

/* The same for rows that a block keeps: device memory is read once and not twice. */
CUDA_KERNEL(__launch_bounds__(XENT_GRAD_BLOCK, 2) softmax_cross_entropy_grad_kept)
(xent_cuda_args a)
{
    CUDA_SHARED(float, shared, 32);
    CUDA_DYNAMIC_SHARED(float4, row);
    grad_of_rows<true, false>(a, cuda_team_of(1, shared), {row, a.logits.dtype, 0});
}
CUDA_ENTRY(softmax_cross_entropy_grad_kept);

CUDA_KERNEL(__launch_bounds__(XENT_GRAD_BLOCK, 2) softmax_cross_entropy_and_grad_kept)
(xent_cuda_args a)
{
    CUDA_SHARED(float, shared, 32);
    CUDA_DYNAMIC_SHARED(float4, row);
    grad_of_rows<true, true>(a, cuda_team_of(1, shared), {row, a.logits.dtype, 0});
}
CUDA_ENTRY(softmax_cross_entropy_and_grad_kept);
