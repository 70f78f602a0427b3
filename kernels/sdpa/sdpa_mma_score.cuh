/* sdpa_mma_score.cuh - scores of a tile on tensor cores: scale, bias, mask, dropout, exponentials. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_SDPA_SDPA_MMA_SCORE_CUH
#define KERNELS_SDPA_SDPA_MMA_SCORE_CUH

#include "sdpa/sdpa_mma_tile.cuh"

/* Scores are in powers of two. */
#define SDPA_LOG2E 1.44269504088896341f
#define SDPA_LN2 0.69314718055994531f

namespace mma
{

/* All of tq x tk from (i0, j0) on, `n` queries, is there and seen. */
__device__ static inline bool whole(const sdpa_cuda_args &a, int64_t i0, int64_t n, int64_t j0,
                                    int keys)
{
    return i0 + n <= a.s.tq && seen_of(a, i0, j0) >= keys;
}

/* It is F32 or DTYPE. */
template <int DTYPE>
__device__ static inline float bias_of(const sdpa_cuda_args &a, const place &p, int64_t i,
                                       int64_t j)
{
    const int64_t at = sdpa_at(&a.s.bias, p.b, p.h, i) + j * a.s.bias_key;
    return SDPA_LOG2E *
           (a.bias.dtype == TUTTI_F32
                ? static_cast<const float *>(a.bias.data)[at]
                : cuda_upcast(static_cast<const uint16_t *>(a.bias.data)[at], DTYPE));
}

/* Scores of queries from i0 and N keys from j0 on, from their products. */
template <int DTYPE, int N>
__device__ static inline void score(const sdpa_cuda_args &a, const place &p, int64_t i0,
                                    int64_t j0, part<N> &s)
{
    const float scale = a.scale * SDPA_LOG2E;
#pragma unroll
    for (int j = 0; j < N / 8; j++)
        for (int c = 0; c < 4; c++)
            s[j][c] *= scale;
    if (!a.bias.data && whole(a, i0, SIDE, j0, N))
        return;
#pragma unroll
    for (int i = 0; i < 2; i++) {
        const int there = seen_of(a, i0 + row(i), j0);
#pragma unroll
        for (int j = 0; j < N / 8; j++)
            for (int c = 2 * i; c < 2 * i + 2; c++)
                if (column(j, c) >= there)
                    s[j][c] = -INFINITY;
                else if (a.bias.data)
                    s[j][c] += bias_of<DTYPE>(a, p, i0 + row(i), j0 + column(j, c));
    }
}

/* The same where rows are keys and columns N queries. */
template <int DTYPE, int N>
__device__ static inline void score_transposed(const sdpa_cuda_args &a, const place &p,
                                               int64_t i0, int64_t j0, part<N> &s)
{
    const float scale = a.scale * SDPA_LOG2E;
#pragma unroll
    for (int j = 0; j < N / 8; j++)
        for (int c = 0; c < 4; c++)
            s[j][c] *= scale;
    if (!a.bias.data && whole(a, i0, N, j0, SIDE))
        return;
#pragma unroll
    for (int j = 0; j < N / 8; j++)
        for (int c = 0; c < 4; c++)
            if (row(c / 2) >= seen_of(a, i0 + column(j, c), j0))
                s[j][c] = -INFINITY;
            else if (a.bias.data)
                s[j][c] += bias_of<DTYPE>(a, p, i0 + column(j, c), j0 + row(c / 2));
}

/* Which probabilities of the lane's rows are kept: a bit a key. */
template <int N>
__device__ static inline void draw(const sdpa_cuda_args &a, const place &p, int64_t i0,
                                   int64_t j0, uint32_t (&kept)[2][N / 32])
{
    const int words = N / 32, l = lane();
    const uint64_t number = a.step->step << 16 | a.step->microbatch;
    const int64_t i = i0 + (int)threadIdx.x / 32 * 16 + l / words;
    uint32_t mine = 0;
    if (l < 16 * words)
        mine = sdpa_kept(&a.s, a.step->seed, number, p.head, i, j0 + l % words * 32, 32);
#pragma unroll
    for (int i2 = 0; i2 < 2; i2++)
        for (int w = 0; w < words; w++)
            kept[i2][w] = __shfl_sync(~0u, mine, (l / 4 + 8 * i2) * words + w);
}

template <int N>
__device__ static inline bool keeps(const uint32_t (&kept)[2][N / 32], int j, int c)
{
    return kept[c / 2][j / 4] >> column(j % 4, c) & 1u;
}

/* The same where rows are keys: keys of the warp's, of queries `lane` and `lane` + 32. */
template <int N>
__device__ static inline void draw_transposed(const sdpa_cuda_args &a, const place &p,
                                              int64_t i0, int64_t j0, uint32_t (&kept)[N / 32])
{
    const uint64_t number = a.step->step << 16 | a.step->microbatch;
#pragma unroll
    for (int w = 0; w < N / 32; w++)
        kept[w] = sdpa_kept(&a.s, a.step->seed, number, p.head, i0 + w * 32 + lane(),
                            j0 + (int)threadIdx.x / 32 * 16, 16);
}

/* Of two queries, columns column(j, 0) and column(j, 1): a bit a key of the warp's. */
template <int N>
__device__ static inline void keys_kept(const uint32_t (&kept)[N / 32], int j,
                                        uint32_t (&ret)[2])
{
    for (int c = 0; c < 2; c++)
        ret[c] = __shfl_sync(~0u, kept[j / 4], column(j % 4, c)) >> lane() / 4;
}

/* Of the four lanes that share a row. */
__device__ static inline float row_sum(float x)
{
    x += __shfl_xor_sync(~0u, x, 1);
    return x + __shfl_xor_sync(~0u, x, 2);
}

__device__ static inline float row_max(float x)
{
    x = fmaxf(x, __shfl_xor_sync(~0u, x, 1));
    return fmaxf(x, __shfl_xor_sync(~0u, x, 2));
}

/* Scores become exponentials; max is that of the rows so far, sum the lane's part of theirs. */
template <int N, int C>
__device__ static inline void soften(part<N> &s, float (&max)[2], float (&sum)[2], part<C> &y)
{
#pragma unroll
    for (int i = 0; i < 2; i++) {
        float most = max[i], total = 0.0f;
#pragma unroll
        for (int j = 0; j < N / 8; j++)
            most = fmaxf(most, fmaxf(s[j][2 * i], s[j][2 * i + 1]));
        most = row_max(most);
        const float shift = most == -INFINITY ? 0.0f : most; /* nothing seen yet */
        const float shrink = cuda_exp2(max[i] - shift);
#pragma unroll
        for (int j = 0; j < N / 8; j++)
            for (int c = 2 * i; c < 2 * i + 2; c++)
                total += s[j][c] = cuda_exp2(s[j][c] - shift);
        max[i] = most;
        sum[i] = sum[i] * shrink + total;
#pragma unroll
        for (int j = 0; j < C / 8; j++) {
            y[j][2 * i] *= shrink;
            y[j][2 * i + 1] *= shrink;
        }
    }
}

} // namespace mma

#endif
