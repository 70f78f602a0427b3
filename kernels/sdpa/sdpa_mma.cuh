/* sdpa_mma.cuh - flash attention on tensor cores: operands of one dtype of 16 bits, up to 128 elements a row. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_SDPA_SDPA_MMA_CUH
#define KERNELS_SDPA_SDPA_MMA_CUH

#include "common/cuda/mma.cuh"

#include "sdpa/sdpa_place.cuh"

/* After Dao, "FlashAttention-2" (2023).  A block of four warps has SIDE rows of one operand, each warp 16; tiles
 * of the other come by asynchronous copies, the next one while this one is worked on.  Tiles lie in shared
 * memory as rows of C numbers, which cuda_eight_at swizzles so that no banks collide; columns behind D are
 * zeros, and steps of 16 behind it are left out.  Scores are in powers of two. */

namespace mma
{

#define LOG2E 1.44269504088896341f
#define LN2 0.69314718055994531f

/* What a warp has of results: [8 columns][rows g, g + 8; two neighbours of each]. */
template <int COLUMNS> using part = float[COLUMNS / 8][4];

__device__ static inline int lane()
{
    return (int)threadIdx.x % 32;
}

/* Row i of two in the tile that the lane has a part of. */
__device__ static inline int row(int i)
{
    return (int)threadIdx.x / 32 * 16 + lane() / 4 + 8 * i;
}

/* Column of number c of part j. */
__device__ static inline int column(int j, int c)
{
    return j * 8 + lane() % 4 * 2 + c % 2;
}

/* Rows of a head. */
struct rows {
    const uint16_t *at;
    int64_t step, n;
    int d;
};

__device__ static inline rows rows_of(const sdpa_cuda_args &a, const cuda_tensor &t,
                                      const sdpa_stride &s, const place &p, int64_t n)
{
    return {static_cast<const uint16_t *>(t.data) + sdpa_at(&s, p.b, p.h, 0), s.t, n,
            (int)a.s.d};
}

/* Until what this block has begun to copy is there, for all of its threads. */
__device__ static inline void await_copies()
{
    cuda_copy_wait<0>();
    __syncthreads();
}

/* Begins to copy N rows from `first` on; zeros where there are none. */
template <int N, int C>
__device__ static inline void begin(const rows &from, int64_t first, uint16_t *to)
{
    constexpr int EIGHTS = C / 8, STEP = SDPA_MMA_BLOCK / EIGHTS;
    static_assert(STEP % 8 == 0 && N % STEP == 0, "a thread's rows lie alike, and are as many");
    const int e = (int)threadIdx.x % EIGHTS, r = (int)threadIdx.x / EIGHTS;
    const uint16_t *at = from.at + (first + r) * from.step + e * 8;
    const int64_t left = e * 8 < from.d ? from.n - first - r : 0;
    to += cuda_eight_at<C>(r, e);
#pragma unroll
    for (int k = 0; k < N; k += STEP)
        cuda_copy_begin(to + k * C, k < left ? at + k * from.step : from.at, k < left);
}

/* x = the warp's 16 rows of `left` times N rows of `right`. */
template <int DTYPE, int N, int C>
__device__ static inline void multiply(const uint16_t *left, const uint16_t *right, int d,
                                       part<N> &x)
{
    const int l = lane(), of_left = (int)threadIdx.x / 32 * 16 + l % 16;
#pragma unroll
    for (int j = 0; j < N / 8; j++)
        for (int c = 0; c < 4; c++)
            x[j][c] = 0.0f;
#pragma unroll
    for (int k = 0; k < C; k += 16) {
        if (k >= d)
            break;
        uint32_t a[4], b[4];
        cuda_load_matrices<false>(a, left + cuda_eight_at<C>(of_left, k / 8 + l / 16));
#pragma unroll
        for (int n = 0; n < N; n += 16) {
            const int of_right = n + l % 8 + l / 16 * 8;
            cuda_load_matrices<false>(b, right + cuda_eight_at<C>(of_right, k / 8 + l / 8 % 2));
            cuda_mma<DTYPE>(x[n / 8], a, b[0], b[1]);
            cuda_mma<DTYPE>(x[n / 8 + 1], a, b[2], b[3]);
        }
    }
}

/* y += x, rounded to 16 bits, times the N rows of `right`. */
template <int DTYPE, int N, int C>
__device__ static inline void accumulate(const part<N> &x, const uint16_t *right, int d,
                                         part<C> &y)
{
    const int l = lane();
#pragma unroll
    for (int k = 0; k < N; k += 16) {
        const float(&near)[4] = x[k / 8], (&far)[4] = x[k / 8 + 1];
        const uint32_t a[4] = {
            cuda_pair<DTYPE>(near[0], near[1]), cuda_pair<DTYPE>(near[2], near[3]),
            cuda_pair<DTYPE>(far[0], far[1]), cuda_pair<DTYPE>(far[2], far[3])};
        uint32_t b[4];
#pragma unroll
        for (int n = 0; n < C; n += 16) {
            if (n >= d)
                break;
            cuda_load_matrices<true>(b, right + cuda_eight_at<C>(k + l % 16, n / 8 + l / 16));
            cuda_mma<DTYPE>(y[n / 8], a, b[0], b[1]);
            cuda_mma<DTYPE>(y[n / 8 + 1], a, b[2], b[3]);
        }
    }
}

/* Two neighbours of a tensor of another dtype. */
__device__ static inline void put_two(const cuda_tensor &t, int64_t at, float x, float y)
{
    if (t.dtype == TUTTI_F32)
        *reinterpret_cast<cuda_words<2> *>(static_cast<float *>(t.data) +
                                           at) = {{fast_bits(x), fast_bits(y)}};
    else
        *reinterpret_cast<uint32_t *>(static_cast<uint16_t *>(t.data) + at) =
            t.dtype == TUTTI_BF16 ? cuda_pair<TUTTI_BF16>(x, y) : cuda_pair<TUTTI_F16>(x, y);
}

/* Rows `to` gets y times `by`; the warp's rows of `tile`, which nobody else reads, serve as scratch. */
template <int DTYPE, int C>
__device__ static inline void store(const tile_rows &to, int d, const part<C> &y,
                                    const float (&by)[2], uint16_t *tile)
{
    if (to.t.dtype != DTYPE) {
#pragma unroll
        for (int j = 0; j < C / 8; j++)
            for (int i = 0; i < 2; i++) {
                const int64_t r = to.first + row(i);
                if (r < to.rows && j * 8 < d)
                    put_two(to.t, to.at + r * to.step + column(j, 0), y[j][2 * i] * by[i],
                            y[j][2 * i + 1] * by[i]);
            }
        return;
    }
    __syncwarp();
#pragma unroll
    for (int j = 0; j < C / 8; j++)
        for (int i = 0; i < 2; i++) {
            uint16_t *at = tile + cuda_eight_at<C>(row(i), j) + lane() % 4 * 2;
            CUDA_BANKS(at, 4);
            *reinterpret_cast<uint32_t *>(at) =
                cuda_pair<DTYPE>(y[j][2 * i] * by[i], y[j][2 * i + 1] * by[i]);
        }
    __syncwarp();
#pragma unroll
    for (int e = lane(); e < 16 * C / 8; e += 32) {
        const int r = (int)threadIdx.x / 32 * 16 + e / (C / 8), eight = e % (C / 8);
        const uint16_t *from = tile + cuda_eight_at<C>(r, eight);
        CUDA_BANKS(from, 16);
        if (to.first + r < to.rows && eight * 8 < d)
            *reinterpret_cast<cuda_words<4> *>(static_cast<uint16_t *>(to.t.data) + to.at +
                                               (to.first + r) * to.step + eight * 8) =
                *reinterpret_cast<const cuda_words<4> *>(from);
    }
}

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
    return LOG2E * (a.bias.dtype == TUTTI_F32
                        ? static_cast<const float *>(a.bias.data)[at]
                        : cuda_upcast(static_cast<const uint16_t *>(a.bias.data)[at], DTYPE));
}

/* Scores of queries from i0 and N keys from j0 on, from their products. */
template <int DTYPE, int N>
__device__ static inline void score(const sdpa_cuda_args &a, const place &p, int64_t i0,
                                    int64_t j0, part<N> &s)
{
    const float scale = a.scale * LOG2E;
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
    const float scale = a.scale * LOG2E;
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

template <int DTYPE, int C>
__device__ static inline void forward(const sdpa_cuda_args &a, uint16_t *shared)
{
    const place p = place_of(a, blockIdx.x, tiles_of(a.s.tq));
    const int64_t i0 = p.tile * SIDE, end = seen_by(a, i0);
    const rows q = rows_of(a, a.q, a.s.q, p, a.s.tq), k = rows_of(a, a.k, a.s.k, p, a.s.tk);
    const rows v = rows_of(a, a.v, a.s.v, p, a.s.tk);
    uint16_t *stage = shared + SIDE * C, *other = stage + 2 * SIDE * C;
    float max[2] = {-INFINITY, -INFINITY}, sum[2] = {};
    part<C> y = {};
    begin<SIDE, C>(q, i0, shared);
    begin<SIDE, C>(k, 0, stage);
    begin<SIDE, C>(v, 0, stage + SIDE * C);
    cuda_copy_commit();
    for (int64_t j0 = 0; j0 < end; j0 += SIDE) {
        part<SIDE> s;
        await_copies(); /* the tile is there, and nobody needs the one before */
        if (j0 + SIDE < end) {
            begin<SIDE, C>(k, j0 + SIDE, other);
            begin<SIDE, C>(v, j0 + SIDE, other + SIDE * C);
            cuda_copy_commit();
        }
        multiply<DTYPE, SIDE, C>(shared, stage, k.d, s);
        score<DTYPE, SIDE>(a, p, i0, j0, s);
        soften<SIDE, C>(s, max, sum, y);
        if (a.s.drop > 0.0f) {
            uint32_t kept[2][SIDE / 32];
            draw<SIDE>(a, p, i0, j0, kept);
#pragma unroll
            for (int j = 0; j < SIDE / 8; j++)
                for (int c = 0; c < 4; c++)
                    s[j][c] = keeps<SIDE>(kept, j, c) ? s[j][c] : 0.0f;
        }
        accumulate<DTYPE, SIDE, C>(s, stage + SIDE * C, v.d, y);
        uint16_t *const swap = stage;
        stage = other;
        other = swap;
    }
    await_copies(); /* where no key is seen */
#pragma unroll
    for (int i = 0; i < 2; i++) {
        const int64_t r = i0 + row(i);
        sum[i] = row_sum(sum[i]);
        if (lane() % 4 == 0 && r < a.s.tq)
            cuda_set(a.lse, p.head * a.s.tq + r, LN2 * max[i] + logf(sum[i]));
        sum[i] = a.keep / sum[i];
    }
    store<DTYPE, C>(queries(a, a.y, a.s.y, p, i0), q.d, y, sum, shared);
}

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
            lse[i] = LOG2E * cuda_get(a.lse, p.head * a.s.tq + i0 + row(i));
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
    return (int)threadIdx.x < N ? LOG2E * cuda_get(a.lse, at) : a.delta[at];
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

#undef LOG2E
#undef LN2
} // namespace mma

#endif
