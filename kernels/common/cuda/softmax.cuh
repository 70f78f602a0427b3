/* softmax.cuh - the largest of a row and its sum of exponentials, in one pass. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_COMMON_CUDA_SOFTMAX_CUH
#define KERNELS_COMMON_CUDA_SOFTMAX_CUH

#include "common/cuda/rows.cuh"

/* sum exp(x - max) over what has been seen (Milakov and Gimelshein 2018).  While max is minus infinity
 * the sum is 0, or NaN when a NaN was seen. */
struct softmax_seen {
    float max, sum;
};

__device__ static inline float softmax_shift(float max)
{
    return max == -INFINITY ? 0.0f : max;
}

template <int V> __device__ static inline void softmax_see(softmax_seen &s, const float (&x)[V])
{
    float max = s.max;
    for (int k = 0; k < V; k++)
        max = fmaxf(max, x[k]);
    const float shift = softmax_shift(max);
    if (max > s.max)
        s.sum *= expf(s.max - shift);
    s.max = max;
    for (int k = 0; k < V; k++)
        s.sum += expf(x[k] - shift);
}

/* Of the whole row, for each thread of the team; a row of minus infinities has no sum: NaN. */
__device__ static inline softmax_seen softmax_join(const cuda_team &t, softmax_seen s)
{
    const float max = cuda_team_max(t, s.max);
    const float sum = cuda_team_sum(t, s.sum * expf(s.max - softmax_shift(max)));
    return {max, max == -INFINITY ? NAN : sum};
}

__device__ static inline softmax_seen softmax_of_row(const cuda_team &t, const cuda_tensor &x,
                                                     int64_t begin, int64_t n)
{
    softmax_seen s = {-INFINITY, 0.0f};
    cuda_team_visit(t, begin, n, [&](int64_t k, auto width) {
        float some[decltype(width)::value];
        cuda_load(x, k, some);
        softmax_see(s, some);
    });
    return softmax_join(t, s);
}

/* Two kernels of `op` from LAST(x, max, sum): <op>_rows along the last axis, <op>_columns along
 * another, where neighbouring threads take neighbouring columns. */
#define CUDA_SOFTMAX(op, LAST)                                                                 \
    CUDA_KERNEL(op##_rows)                                                                     \
    (cuda_tensor x, cuda_tensor y, int64_t outer, int64_t n, [[maybe_unused]] int64_t inner,   \
     int32_t whole)                                                                            \
    {                                                                                          \
        CUDA_SHARED(float, shared, 32);                                                        \
        const cuda_team t = cuda_team_of(whole, shared);                                       \
        for (int64_t r = t.first; r < outer; r += t.step) {                                    \
            const softmax_seen s = softmax_of_row(t, x, r * n, n);                             \
            cuda_team_visit(t, r *n, n, [&](int64_t k, auto width) {                           \
                constexpr int V = decltype(width)::value;                                      \
                float some[V];                                                                 \
                cuda_load(x, k, some);                                                         \
                for (int i = 0; i < V; i++)                                                    \
                    some[i] = LAST(some[i], s.max, s.sum);                                     \
                cuda_store(y, k, some);                                                        \
            });                                                                                \
        }                                                                                      \
    }                                                                                          \
    CUDA_ENTRY(op##_rows);                                                                     \
    CUDA_KERNEL(op##_columns)                                                                  \
    (cuda_tensor x, cuda_tensor y, int64_t outer, int64_t n, int64_t inner,                    \
     [[maybe_unused]] int32_t whole)                                                           \
    {                                                                                          \
        CUDA_EACH(column, outer *inner)                                                        \
        {                                                                                      \
            const int64_t first = column / inner * n * inner + column % inner;                 \
            softmax_seen s = {-INFINITY, 0.0f};                                                \
            for (int64_t k = 0; k < n; k++) {                                                  \
                const float one[1] = {cuda_get(x, first + k * inner)};                         \
                softmax_see(s, one);                                                           \
            }                                                                                  \
            const float sum = s.max == -INFINITY ? NAN : s.sum;                                \
            for (int64_t k = first; k < first + n * inner; k += inner)                         \
                cuda_set(y, k, LAST(cuda_get(x, k), s.max, sum));                              \
        }                                                                                      \
    }                                                                                          \
    CUDA_ENTRY(op##_columns)

#endif
