/* sdpa.cu - flash attention on the GPU: tiles with an online softmax, and the gradient. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sdpa/sdpa_fma.cuh"
#include "sdpa/sdpa_mma.cuh"
#include "sdpa/sdpa_mma_grad.cuh"

/* budget: sdpa_fma_64 registers=168: sm_80 alone wants more than 128 */
/* budget: sdpa_fma_drop_64 registers=168: the same with the bits of a tile */
/* budget: sdpa_by_key_fma_drop_64 registers=136: two tiles of scores and two of results */
/* budget: sdpa_fma_128 registers=168: a tile of scores and of results in f32 */
/* budget: sdpa_by_query_fma_128 registers=168: two tiles of scores and one of results */
/* budget: sdpa_by_key_fma_128 registers=168: two tiles of scores and two of results */
/* budget: sdpa_bf16_64 registers=168: blocks of 128 threads, three of them on a multiprocessor; scores and results */
/* budget: sdpa_by_query_bf16_64 registers=168: the same; two tiles of scores and one of results */
/* budget: sdpa_by_key_bf16_64 registers=255: two blocks; two tiles of scores and two of results */
/* budget: sdpa_bf16_128 registers=255: two blocks, for which there is shared memory; scores and results */
/* budget: sdpa_by_query_bf16_128 registers=255: two blocks; two halves of tiles of scores and one of results */
/* budget: sdpa_by_key_bf16_128 registers=255: two blocks; two halves of tiles of scores and two of results */
/* budget: sdpa_f16_64 registers=168: blocks of 128 threads, three of them on a multiprocessor; scores and results */
/* budget: sdpa_by_query_f16_64 registers=168: the same; two tiles of scores and one of results */
/* budget: sdpa_by_key_f16_64 registers=255: two blocks; two tiles of scores and two of results */
/* budget: sdpa_f16_128 registers=255: two blocks, for which there is shared memory; scores and results */
/* budget: sdpa_by_query_f16_128 registers=255: two blocks; two halves of tiles of scores and one of results */
/* budget: sdpa_by_key_f16_128 registers=255: two blocks; two halves of tiles of scores and two of results */

/* By FMA, for operands of any dtypes and width; sdpa_mma.cuh does the rest.  E is by_fma, with C columns of
 * results a block: where D is larger, blocks share the tile and each works it out. */

/* What a tile and results are for a thread. */
template <class E> using tile_of = float[E::ROWS][E::COLUMNS];
template <class E> using results_of = float[E::ROWS][E::RESULTS];
template <class E> using rows_of = float[E::ROWS];

/* Rows of results times `by`, to columns c to c + C - 1 of the rows. */
template <class E>
__device__ static inline void store(const sdpa_cuda_args &a, const results_of<E> &sum,
                                    const rows_of<E> &by, const tile_rows &to, int64_t c)
{
#pragma unroll
    for (int i = 0; i < E::ROWS; i++) {
        const int64_t row = to.first + E::row(i);
        if (row >= to.rows)
            continue;
#pragma unroll
        for (int j = 0; j < E::RESULTS; j++) {
            const int64_t column = c + E::result_column(j);
            if (column < a.s.d)
                cuda_set(to.t, to.at + row * to.step + column, sum[i][j] * by[i]);
        }
    }
}

/* to (SIDE, SIDE + 1): the bias of a tile, zeros where there is none.  Until the next barrier. */
__device__ static inline void load_bias(const sdpa_cuda_args &a, const place &p, int64_t i0,
                                        int64_t j0, float *to)
{
#pragma unroll 1
    for (int e = (int)threadIdx.x; a.bias.data && e < SIDE * SIDE; e += (int)blockDim.x) {
        const int64_t i = i0 + e / SIDE, j = j0 + e % SIDE;
        const int64_t at = sdpa_at(&a.s.bias, p.b, p.h, i) + j * a.s.bias_key;
        to[e + e / SIDE] = i < a.s.tq && j < a.s.tk ? cuda_get(a.bias, at) : 0.0f;
    }
}

/* to (SIDE, 2): which probabilities of a tile are kept.  Until the next barrier. */
__device__ static inline void load_kept(const sdpa_cuda_args &a, const place &p, int64_t i0,
                                        int64_t j0, uint32_t *to)
{
    const uint64_t number = a.step->step << 16 | a.step->microbatch;
#pragma unroll 1
    for (int e = (int)threadIdx.x; e < 2 * SIDE; e += (int)blockDim.x)
        to[e] = sdpa_kept(&a.s, a.step->seed, number, p.head, i0 + e / 2, j0 + e % 2 * 32, 32);
}

/* What dropout multiplies the probability of query i and key j of the tile by. */
__device__ static inline float factor(const sdpa_cuda_args &a, const uint32_t *kept, int i,
                                      int j)
{
    return kept[2 * i + j / 32] >> j % 32 & 1 ? a.keep : 0.0f;
}

/* The score of query i and key j of the tile from their product. */
__device__ static inline float score(const sdpa_cuda_args &a, float product, const float *bias,
                                     int i, int j)
{
    const float s = product * a.scale;
    return a.bias.data ? s + bias[i * (SIDE + 1) + j] : s;
}

/* Of the lanes that share a row. */
template <class E> __device__ static inline float row_sum(float x)
{
    for (int o = E::SIMD_LANES / 2; o; o >>= 1)
        x += __shfl_xor_sync(~0u, x, o);
    return x;
}

template <class E> __device__ static inline float row_max(float x)
{
    for (int o = E::SIMD_LANES / 2; o; o >>= 1)
        x = fmaxf(x, __shfl_xor_sync(~0u, x, o));
    return x;
}

/* Scores become exponentials; max and sum are those of the rows so far, results so far shrink. */
template <class E>
__device__ static inline void soften(tile_of<E> &s, rows_of<E> &max, rows_of<E> &sum,
                                     results_of<E> &y)
{
#pragma unroll
    for (int i = 0; i < E::ROWS; i++) {
        float most = max[i], total = 0.0f;
        for (int j = 0; j < E::COLUMNS; j++)
            most = fmaxf(most, s[i][j]);
        most = row_max<E>(most);
        const float shift = most == -INFINITY ? 0.0f : most; /* nothing seen yet */
        const float shrink = expf(max[i] - shift);
        for (int j = 0; j < E::COLUMNS; j++) {
            s[i][j] = expf(s[i][j] - shift);
            total += s[i][j];
        }
        max[i] = most;
        sum[i] = sum[i] * shrink + row_sum<E>(total);
#pragma unroll
        for (int j = 0; j < E::RESULTS; j++)
            y[i][j] *= shrink;
    }
}

template <class E> __device__ static inline void fill(rows_of<E> &x, float with)
{
    for (int i = 0; i < E::ROWS; i++)
        x[i] = with;
}

template <class E, int C, bool DROPS>
__device__ static inline void forward(const sdpa_cuda_args &a, float *shared)
{
    float *bias = shared + E::SHARED;
    uint32_t *kept =
        reinterpret_cast<uint32_t *>(bias + (a.bias.data ? (int)SDPA_BIAS_SIZE : 0));
    const int64_t tiles = tiles_of(a.s.tq), all = a.s.batch * a.s.heads * a.chunks * tiles;
    for (int64_t n = blockIdx.x; n < all; n += gridDim.x) {
        const place p = place_of(a, n, tiles);
        const int64_t i0 = p.tile * SIDE, end = seen_by(a, i0);
        const tile_rows q = queries(a, a.q, a.s.q, p, i0), y = queries(a, a.y, a.s.y, p, i0);
        rows_of<E> sum = {}, max;
        results_of<E> result = {};
        fill<E>(max, -INFINITY);
        for (int64_t j0 = 0; j0 < end; j0 += SIDE) {
            tile_of<E> s;
            load_bias(a, p, i0, j0, bias);
            if (DROPS)
                load_kept(a, p, i0, j0, kept);
            E::multiply(a, q, keys(a, a.k, a.s.k, p, j0), shared, s);
#pragma unroll
            for (int i = 0; i < E::ROWS; i++) {
                const int there = seen_of(a, i0 + E::row(i), j0);
#pragma unroll
                for (int j = 0; j < E::COLUMNS; j++) {
                    const float x = score(a, s[i][j], bias, E::row(i), E::column(j));
                    s[i][j] = E::column(j) < there ? x : -INFINITY;
                }
            }
            soften<E>(s, max, sum, result);
            if (DROPS)
#pragma unroll
                for (int i = 0; i < E::ROWS; i++)
#pragma unroll
                    for (int j = 0; j < E::COLUMNS; j++)
                        s[i][j] *= factor(a, kept, E::row(i), E::column(j));
            E::accumulate(a, s, keys(a, a.v, a.s.v, p, j0), p.chunk * C, shared, result);
        }
        for (int i = 0; i < E::ROWS; i++) {
            const int64_t row = i0 + E::row(i);
            if (E::column(0) == 0 && p.chunk == 0 && row < a.s.tq)
                cuda_set(a.lse, p.head * a.s.tq + row, max[i] + logf(sum[i]));
            sum[i] = 1.0f / sum[i];
        }
        store<E>(a, result, sum, y, p.chunk * C);
    }
}

/* delta of a row: a warp's. */
CUDA_KERNEL(sdpa_delta)(sdpa_cuda_args a)
{
    const int lane = (int)threadIdx.x % 32;
    const int64_t rows = a.s.batch * a.s.heads * a.s.tq;
    for (int64_t r = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) / 32; r < rows;
         r += (int64_t)gridDim.x * blockDim.x / 32) {
        const int64_t head = r / a.s.tq, b = head / a.s.heads, h = head % a.s.heads;
        const int64_t at = sdpa_at(&a.s.y, b, h, r % a.s.tq);
        float sum = 0.0f;
        for (int64_t c = lane; c < a.s.d; c += 32)
            sum = fmaf(cuda_get(a.dy, at + c), cuda_get(a.y, at + c), sum);
        sum = cuda_warp_sum(sum);
        if (lane == 0)
            a.delta[r] = sum;
    }
}
CUDA_ENTRY(sdpa_delta);

/* Eight neighbours are a thread's: two blocks of draws. */
CUDA_KERNEL(sdpa_mask)(sdpa_mask_args a)
{
    const int64_t sample = a.s.heads * a.s.tq * a.s.tk, begin = a.first * sample;
    const uint64_t number = a.step->step << 16 | a.step->microbatch;
    CUDA_EACH(e, a.samples * sample / 8)
    {
        const int64_t j = e * 8 % a.s.tk, i = e * 8 / a.s.tk % a.s.tq;
        cuda_words<4> eight = {};
        for (int part = 0; part < 2 && j < sdpa_seen(&a.s, i); part++) {
            const tutti_rng4 r = tutti_rng(a.step->seed, a.s.purpose, number,
                                           (uint64_t)(begin / 4 + 2 * e + part));
#pragma unroll
            for (int k = 0; k < 4; k++)
                if (tutti_uniform_f32(r.v[k]) >= a.s.drop)
                    eight.w[2 * part + k / 2] |= a.one << 16 * (k % 2);
        }
        reinterpret_cast<cuda_words<4> *>(a.mask)[e] = eight;
    }
}
CUDA_ENTRY(sdpa_mask);

/* dq = scale dS k with dS = P (dy v^T - delta), P = exp(scores - lse) */
template <class E, int C, bool DROPS>
__device__ static inline void by_query(const sdpa_cuda_args &a, float *shared)
{
    float *bias = shared + E::SHARED;
    uint32_t *kept =
        reinterpret_cast<uint32_t *>(bias + (a.bias.data ? (int)SDPA_BIAS_SIZE : 0));
    const int64_t tiles = tiles_of(a.s.tq), all = a.s.batch * a.s.heads * a.chunks * tiles;
    for (int64_t n = blockIdx.x; n < all; n += gridDim.x) {
        const place p = place_of(a, n, tiles);
        const int64_t i0 = p.tile * SIDE, end = seen_by(a, i0);
        const tile_rows q = queries(a, a.q, a.s.q, p, i0), dy = queries(a, a.dy, a.s.y, p, i0);
        rows_of<E> lse = {}, delta = {}, by;
        results_of<E> result = {};
        for (int i = 0; i < E::ROWS; i++)
            if (i0 + E::row(i) < a.s.tq) {
                lse[i] = cuda_get(a.lse, p.head * a.s.tq + i0 + E::row(i));
                delta[i] = a.delta[p.head * a.s.tq + i0 + E::row(i)];
            }
        for (int64_t j0 = 0; j0 < end; j0 += SIDE) {
            tile_of<E> s, dp;
            const tile_rows k = keys(a, a.k, a.s.k, p, j0);
            load_bias(a, p, i0, j0, bias);
            if (DROPS)
                load_kept(a, p, i0, j0, kept);
            E::multiply(a, q, k, shared, s);
            E::multiply(a, dy, keys(a, a.v, a.s.v, p, j0), shared, dp);
#pragma unroll
            for (int i = 0; i < E::ROWS; i++) {
                const int there = seen_of(a, i0 + E::row(i), j0);
#pragma unroll
                for (int j = 0; j < E::COLUMNS; j++) {
                    const float x = score(a, s[i][j], bias, E::row(i), E::column(j));
                    const float times =
                        !DROPS ? 1.0f : factor(a, kept, E::row(i), E::column(j));
                    const float ds = expf(x - lse[i]) * (dp[i][j] * times - delta[i]);
                    s[i][j] = E::column(j) < there ? ds : 0.0f;
                }
            }
            E::accumulate(a, s, k, p.chunk * C, shared, result);
        }
        fill<E>(by, a.scale);
        store<E>(a, result, by, queries(a, a.dq, a.s.q, p, i0), p.chunk * C);
    }
}

/* dv = P^T dy, dk = scale dS^T q: rows of the tiles are keys here. */
template <class E, int C, bool DROPS>
__device__ static inline void by_key(const sdpa_cuda_args &a, float *shared)
{
    float *bias = shared + E::SHARED;
    uint32_t *kept =
        reinterpret_cast<uint32_t *>(bias + (a.bias.data ? (int)SDPA_BIAS_SIZE : 0));
    const int64_t tiles = tiles_of(a.s.tk), all = a.s.batch * a.s.heads * a.chunks * tiles;
    for (int64_t n = blockIdx.x; n < all; n += gridDim.x) {
        const place p = place_of(a, n, tiles);
        const int64_t j0 = p.tile * SIDE, c = p.chunk * C;
        const int64_t unseen = a.s.causal ? j0 + a.s.tq - a.s.tk : 0;
        const tile_rows k = keys(a, a.k, a.s.k, p, j0), v = keys(a, a.v, a.s.v, p, j0);
        results_of<E> dk = {}, dv = {};
        rows_of<E> by;
        for (int64_t i0 = unseen > 0 ? unseen / SIDE * SIDE : 0; i0 < a.s.tq; i0 += SIDE) {
            const tile_rows q = queries(a, a.q, a.s.q, p, i0);
            const tile_rows dy = queries(a, a.dy, a.s.y, p, i0);
            tile_of<E> s, dp;
            load_bias(a, p, i0, j0, bias);
            if (DROPS)
                load_kept(a, p, i0, j0, kept);
            E::multiply(a, k, q, shared, s);
            E::multiply(a, v, dy, shared, dp);
#pragma unroll
            for (int j = 0; j < E::COLUMNS; j++) {
                const int64_t i = i0 + E::column(j), row = p.head * a.s.tq + i;
                const int there = seen_of(a, i, j0);
                const float lse = i < a.s.tq ? cuda_get(a.lse, row) : 0.0f;
                const float delta = i < a.s.tq ? a.delta[row] : 0.0f;
#pragma unroll
                for (int r = 0; r < E::ROWS; r++) {
                    const float x = score(a, s[r][j], bias, E::column(j), E::row(r));
                    const float times =
                        !DROPS ? 1.0f : factor(a, kept, E::column(j), E::row(r));
                    s[r][j] = E::row(r) < there ? expf(x - lse) : 0.0f;
                    dp[r][j] = E::row(r) < there ? s[r][j] * (dp[r][j] * times - delta) : 0.0f;
                    s[r][j] *= times;
                }
            }
            E::accumulate(a, s, dy, c, shared, dv);
            E::accumulate(a, dp, q, c, shared, dk);
        }
        fill<E>(by, a.scale);
        store<E>(a, dk, by, keys(a, a.dk, a.s.k, p, j0), c);
        fill<E>(by, 1.0f);
        store<E>(a, dv, by, keys(a, a.dv, a.s.v, p, j0), c);
    }
}

/* sdpa_<variant>_<C>, sdpa_by_query_<variant>_<C> and sdpa_by_key_<variant>_<C> */
#define SDPA_KERNEL(name, body, ...)                                                           \
    CUDA_KERNEL(name)(sdpa_cuda_args a)                                                        \
    {                                                                                          \
        CUDA_DYNAMIC_SHARED(float, shared);                                                    \
        body<__VA_ARGS__>(a, shared);                                                          \
    }                                                                                          \
    CUDA_ENTRY(name)
#define SDPA_VARIANT(variant, C, drops, ...)                                                   \
    SDPA_KERNEL(sdpa_##variant##_##C, forward, __VA_ARGS__, C, drops);                         \
    SDPA_KERNEL(sdpa_by_query_##variant##_##C, by_query, __VA_ARGS__, C, drops);               \
    SDPA_KERNEL(sdpa_by_key_##variant##_##C, by_key, __VA_ARGS__, C, drops)

SDPA_VARIANT(fma, 64, false, by_fma<64>);
SDPA_VARIANT(fma, 128, false, by_fma<128>);
SDPA_VARIANT(fma_drop, 64, true, by_fma<64>);

/* The same by tensor cores; so many blocks shall fit on a multiprocessor. */
#define SDPA_MMA_KERNEL(name, body, blocks, ...)                                               \
    CUDA_KERNEL(__launch_bounds__(SDPA_MMA_BLOCK, blocks) name)(sdpa_cuda_args a)              \
    {                                                                                          \
        CUDA_DYNAMIC_SHARED(uint16_t, shared);                                                 \
        mma::body<__VA_ARGS__>(a, shared);                                                     \
    }                                                                                          \
    CUDA_ENTRY(name)
#define SDPA_MMA_VARIANT(variant, dtype)                                                       \
    SDPA_MMA_KERNEL(sdpa_##variant##_64, forward, 3, dtype, 64);                               \
    SDPA_MMA_KERNEL(sdpa_by_query_##variant##_64, by_query, 3, dtype, 64);                     \
    SDPA_MMA_KERNEL(sdpa_by_key_##variant##_64, by_key, 2, dtype, 64);                         \
    SDPA_MMA_KERNEL(sdpa_##variant##_128, forward, 2, dtype, 128);                             \
    SDPA_MMA_KERNEL(sdpa_by_query_##variant##_128, by_query, 2, dtype, 128);                   \
    SDPA_MMA_KERNEL(sdpa_by_key_##variant##_128, by_key, 2, dtype, 128)

SDPA_MMA_VARIANT(bf16, TUTTI_BF16);
SDPA_MMA_VARIANT(f16, TUTTI_F16);
