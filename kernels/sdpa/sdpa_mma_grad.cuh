/* sdpa_mma_grad.cuh - the gradient of attention on tensor cores: by queries and then by keys. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_SDPA_SDPA_MMA_GRAD_CUH
#define KERNELS_SDPA_SDPA_MMA_GRAD_CUH

#include "sdpa/sdpa_mma_score.cuh"

namespace mma
{

/* How many rows of the other operand the gradient has at a time: registers and shared memory are few. */
template <int C> constexpr int ACROSS = SDPA_ACROSS(C);

template <int DTYPE, int C>
__device__ static inline void by_query(const sdpa_cuda_args &a, uint16_t *shared)
{
    constexpr int N = ACROSS<C>;
    const place p = place_of(a, blockIdx.x, tiles_of(a.s.tq));
    const int64_t i0 = p.tile * SIDE, end = seen_by(a, i0);
    const rows q = rows_of(a, a.q, a.s.q, p, a.s.tq), dy = rows_of(a, a.dy, a.s.y, p, a.s.tq);
    const rows k = rows_of(a, a.k, a.s.k, p, a.s.tk), v = rows_of(a, a.v, a.s.v, p, a.s.tk);
    uint16_t *stage = shared + 2 * SIDE * C, *other = stage + 2 * N * C;
    float lse[2] = {}, delta[2] = {};
    part<C> dq = {};
    begin<SIDE, C>(q, i0, shared);
    begin<SIDE, C>(dy, i0, shared + SIDE * C);
    begin<N, C>(k, 0, stage);
    begin<N, C>(v, 0, stage + N * C);
    cuda_copy_commit();
    for (int i = 0; i < 2; i++)
        if (i0 + row(i) < a.s.tq) {
            lse[i] = SDPA_LOG2E * cuda_get(a.lse, p.head * a.s.tq + i0 + row(i));
            delta[i] = a.delta[p.head * a.s.tq + i0 + row(i)];
        }
    for (int64_t j0 = 0; j0 < end; j0 += N) {
        part<N> s, dp;
        await_copies();
        if (j0 + N < end) {
            begin<N, C>(k, j0 + N, other);
            begin<N, C>(v, j0 + N, other + N * C);
            cuda_copy_commit();
        }
        multiply<DTYPE, N, C>(shared, stage, k.d, s);
        score<DTYPE, N>(a, p, i0, j0, s);
        multiply<DTYPE, N, C>(shared + SIDE * C, stage + N * C, v.d, dp);
        if (a.s.drop > 0.0f) {
            uint32_t kept[2][N / 32];
            draw<N>(a, p, i0, j0, kept);
#pragma unroll
            for (int j = 0; j < N / 8; j++)
                for (int c = 0; c < 4; c++)
                    dp[j][c] = keeps<N>(kept, j, c) ? dp[j][c] * a.keep : 0.0f;
        }
#pragma unroll
        for (int j = 0; j < N / 8; j++)
            for (int c = 0; c < 4; c++)
                s[j][c] = cuda_exp2(s[j][c] - lse[c / 2]) * (dp[j][c] - delta[c / 2]);
        accumulate<DTYPE, N, C>(s, stage, k.d, dq);
        uint16_t *const swap = stage;
        stage = other;
        other = swap;
    }
    await_copies(); /* where no key is seen */
    const float by[2] = {a.scale, a.scale};
    store<DTYPE, C>(queries(a, a.dq, a.s.q, p, i0), q.d, dq, by, shared);
}

/* Of query `threadIdx.x` % N of those from i0 on: lse in powers of two, of the next N threads delta. */
template <int N>
__device__ static inline float number_of(const sdpa_cuda_args &a, const place &p, int64_t i0)
{
    const int64_t i = i0 + (int)threadIdx.x % N, at = p.head * a.s.tq + i;
    if ((int)threadIdx.x >= 2 * N || i >= a.s.tq)
        return 0.0f;
    return (int)threadIdx.x < N ? SDPA_LOG2E * cuda_get(a.lse, at) : a.delta[at];
}

template <int DTYPE, int C>
__device__ static inline void by_key(const sdpa_cuda_args &a, uint16_t *shared)
{
    constexpr int N = ACROSS<C>;
    const place p = place_of(a, blockIdx.x, tiles_of(a.s.tk));
    const int64_t tile = tiles_of(a.s.tk) - 1 - p.tile; /* the first keys are seen most often */
    const int64_t j0 = tile * SIDE, unseen = a.s.causal ? j0 + a.s.tq - a.s.tk : 0;
    const int64_t first = unseen > 0 ? unseen / N * N : 0;
    const rows q = rows_of(a, a.q, a.s.q, p, a.s.tq), dy = rows_of(a, a.dy, a.s.y, p, a.s.tq);
    const rows k = rows_of(a, a.k, a.s.k, p, a.s.tk), v = rows_of(a, a.v, a.s.v, p, a.s.tk);
    uint16_t *stage = shared + 2 * SIDE * C, *other = stage + 2 * N * C;
    float *numbers = reinterpret_cast<float *>(shared + 2 * SIDE * C + 4 * N * C);
    float *others = numbers + 2 * N; /* lse of N queries, and delta, of each stage */
    part<C> dk = {}, dv = {};
    begin<SIDE, C>(k, j0, shared);
    begin<SIDE, C>(v, j0, shared + SIDE * C);
    begin<N, C>(q, first, stage);
    begin<N, C>(dy, first, stage + N * C);
    cuda_copy_commit();
    if ((int)threadIdx.x < 2 * N)
        numbers[threadIdx.x] = number_of<N>(a, p, first);
    for (int64_t i0 = first; i0 < a.s.tq; i0 += N) {
        part<N> s, dp;
        await_copies();
        if (i0 + N < a.s.tq) {
            begin<N, C>(q, i0 + N, other);
            begin<N, C>(dy, i0 + N, other + N * C);
            cuda_copy_commit();
        }
        const float next = number_of<N>(a, p, i0 + N);
        uint32_t kept[N / 32] = {};
        if (a.s.drop > 0.0f)
            draw_transposed<N>(a, p, i0, j0, kept);
        multiply<DTYPE, N, C>(shared, stage, k.d, s);
        score_transposed<DTYPE, N>(a, p, i0, j0, s);
        multiply<DTYPE, N, C>(shared + SIDE * C, stage + N * C, v.d, dp);
#pragma unroll
        for (int j = 0; j < N / 8; j++) {
            uint32_t bits[2];
            if (a.s.drop > 0.0f)
                keys_kept<N>(kept, j, bits);
#pragma unroll
            for (int c = 0; c < 4; c++) {
                const int query = column(j, c);
                const float e = cuda_exp2(s[j][c] - numbers[query]);
                float times = 1.0f;
                if (a.s.drop > 0.0f)
                    times = bits[c % 2] >> c / 2 * 8 & 1u ? a.keep : 0.0f;
                dp[j][c] = e * (dp[j][c] * times - numbers[N + query]);
                s[j][c] = e * times;
            }
        }
        accumulate<DTYPE, N, C>(s, stage + N * C, v.d, dv);
        accumulate<DTYPE, N, C>(dp, stage, k.d, dk);
        if ((int)threadIdx.x < 2 * N)
            others[threadIdx.x] = next;
        uint16_t *const swap = stage;
        stage = other;
        other = swap;
        float *const swapped = numbers;
        numbers = others;
        others = swapped;
    }
    await_copies(); /* where no query sees the keys */
    const float by[2] = {a.scale, a.scale}, one[2] = {1.0f, 1.0f};
    store<DTYPE, C>(keys(a, a.dk, a.s.k, p, j0), k.d, dk, by, shared);
    store<DTYPE, C>(keys(a, a.dv, a.s.v, p, j0), v.d, dv, one, shared + SIDE * C);
}

} // namespace mma

#endif
