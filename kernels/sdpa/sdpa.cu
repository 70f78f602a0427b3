/* sdpa.cu - attention on the GPU tile by tile with a running softmax, and its gradient. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/cuda/vector.cuh"

#include "sdpa/sdpa_cuda.h"

/* After Dao, "FlashAttention-2" (2023).  Thread (y, x) of 16 x 16 has rows 4 y to 4 y + 3 and columns
 * 4 x to 4 x + 3 of a tile of 64 x 64, and of results the columns 64 g + 4 x to 64 g + 4 x + 3.  Only
 * C columns of results are a block's: where D is larger, blocks share the tile and each works it out. */

enum { SIDE = SDPA_SIDE, DEPTH = SDPA_DEPTH, PITCH = SDPA_PITCH };

/* Rows first to first + SIDE - 1 of a head of a tensor; those from `rows` on do not exist. */
struct tile_rows {
    const cuda_tensor &t;
    int64_t at, step; /* of the head; from row to row */
    int64_t first, rows;
};

struct place {
    int64_t b, h, head, chunk, tile;
};

/* Number n of all blocks; the tiles of a head come last first, because causal ones have most to do. */
__device__ static inline place place_of(const sdpa_cuda_args &a, int64_t n, int64_t tiles)
{
    const int64_t head = n / tiles / a.chunks;
    return {head / a.s.heads, head % a.s.heads, head, n / tiles % a.chunks,
            tiles - 1 - n % tiles};
}

__device__ static inline int64_t tiles_of(int64_t n)
{
    return (n + SIDE - 1) / SIDE;
}

__device__ static inline void four(const float *from, float (&to)[4])
{
    const cuda_words<4> some = *reinterpret_cast<const cuda_words<4> *>(from);
    for (int i = 0; i < 4; i++)
        to[i] = fast_from_bits(some.w[i]);
}

__device__ static inline void put_four(float *to, const float (&from)[4])
{
    cuda_words<4> some;
    for (int i = 0; i < 4; i++)
        some.w[i] = fast_bits(from[i]);
    *reinterpret_cast<cuda_words<4> *>(to) = some;
}

/* x = elements c to c + 7 of row r of the tile, zeros where there are none. */
__device__ static inline void eight(const sdpa_cuda_args &a, const tile_rows &from, int r,
                                    int64_t c, float (&x)[8])
{
    const int64_t row = from.first + r, at = from.at + row * from.step + c;
    for (int i = 0; i < 8; i++)
        x[i] = 0.0f;
    if (row >= from.rows || c >= a.s.d)
        return;
    if (a.wide)
        cuda_load(from.t, at, x);
    else
        for (int i = 0; i < 8 && c + i < a.s.d; i++)
            x[i] = cuda_get(from.t, at + i);
}

/* to (DEPTH, SIDE): elements c to c + DEPTH - 1 of the rows, turned. */
__device__ static inline void load_turned(const sdpa_cuda_args &a, const tile_rows &from,
                                          int64_t c, float *to)
{
    const int r = (int)threadIdx.x % SIDE, e = (int)threadIdx.x / SIDE * 8;
    float x[8];
    static_assert(SDPA_CUDA_BLOCK * 8 == SIDE * DEPTH, "eight elements a thread");
    eight(a, from, r, c + e, x);
    for (int i = 0; i < 8; i++)
        to[(e + i) * SIDE + r] = x[i];
}

/* to (SIDE, C): elements c to c + C - 1 of the rows. */
template <int C>
__device__ static inline void load_rows(const sdpa_cuda_args &a, const tile_rows &from,
                                        int64_t c, float *to)
{
    for (int e = (int)threadIdx.x * 8; e < SIDE * C; e += SDPA_CUDA_BLOCK * 8) {
        float x[8], half[4];
        eight(a, from, e / C, c + e % C, x);
        for (int j = 0; j < 8; j += 4) {
            for (int i = 0; i < 4; i++)
                half[i] = x[j + i];
            put_four(to + e + j, half);
        }
    }
}

/* sum = rows of `left` times rows of `right`; `room` is 2 DEPTH SIDE floats. */
__device__ static inline void multiply(const sdpa_cuda_args &a, const tile_rows &left,
                                       const tile_rows &right, float *room, float (&sum)[4][4])
{
    const int ty = (int)threadIdx.x / 16, tx = (int)threadIdx.x % 16;
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++)
            sum[i][j] = 0.0f;
    for (int64_t c = 0; c < a.s.d; c += DEPTH) {
        __syncthreads();
        load_turned(a, left, c, room);
        load_turned(a, right, c, room + DEPTH * SIDE);
        __syncthreads();
#pragma unroll 8
        for (int k = 0; k < DEPTH; k++) {
            float x[4], y[4];
            four(room + k * SIDE + 4 * ty, x);
            four(room + (DEPTH + k) * SIDE + 4 * tx, y);
            for (int i = 0; i < 4; i++)
                for (int j = 0; j < 4; j++)
                    sum[i][j] = fmaf(x[i], y[j], sum[i][j]);
        }
    }
}

/* sum += tile times C columns of the rows from column c on.  `tile` is written turned, with rows of
 * PITCH floats; `room` is SIDE C floats. */
template <int C>
__device__ static inline void accumulate(const sdpa_cuda_args &a, const float (&tile)[4][4],
                                         const tile_rows &right, int64_t c, float *turned,
                                         float *room, float (&sum)[4][C / 16])
{
    const int ty = (int)threadIdx.x / 16, tx = (int)threadIdx.x % 16;
    __syncthreads();
    for (int j = 0; j < 4; j++) {
        const float column[4] = {tile[0][j], tile[1][j], tile[2][j], tile[3][j]};
        put_four(turned + (4 * tx + j) * PITCH + 4 * ty, column);
    }
    load_rows<C>(a, right, c, room);
    __syncthreads();
#pragma unroll 8
    for (int k = 0; k < SIDE; k++) {
        float x[4], y[4];
        four(turned + k * PITCH + 4 * ty, x);
#pragma unroll
        for (int g = 0; g < C / 64; g++) {
            four(room + k * C + 64 * g + 4 * tx, y);
            for (int i = 0; i < 4; i++)
                for (int j = 0; j < 4; j++)
                    sum[i][4 * g + j] = fmaf(x[i], y[j], sum[i][4 * g + j]);
        }
    }
}

/* Rows of results times `by`, to columns c to c + C - 1 of the rows. */
template <int C>
__device__ static inline void store(const sdpa_cuda_args &a, const float (&sum)[4][C / 16],
                                    const float (&by)[4], const tile_rows &to, int64_t c)
{
    const int ty = (int)threadIdx.x / 16, tx = (int)threadIdx.x % 16;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const int64_t row = to.first + 4 * ty + i;
        if (row >= to.rows)
            continue;
#pragma unroll
        for (int g = 0; g < C / 64; g++) {
            const int64_t column = c + 64 * g + 4 * tx, at = to.at + row * to.step + column;
            float x[4];
            for (int j = 0; j < 4; j++)
                x[j] = sum[i][4 * g + j] * by[i];
            if (a.wide && column < a.s.d)
                cuda_store(to.t, at, x);
            for (int j = 0; j < 4 && !a.wide && column + j < a.s.d; j++)
                cuda_set(to.t, at + j, x[j]);
        }
    }
}

__device__ static inline tile_rows queries(const sdpa_cuda_args &a, const cuda_tensor &t,
                                           const sdpa_stride &s, const place &p, int64_t first)
{
    return {t, sdpa_at(&s, p.b, p.h, 0), s.t, first, a.s.tq};
}

__device__ static inline tile_rows keys(const sdpa_cuda_args &a, const cuda_tensor &t,
                                        const sdpa_stride &s, const place &p, int64_t first)
{
    return {t, sdpa_at(&s, p.b, p.h, 0), s.t, first, a.s.tk};
}

/* Whether query i exists and sees key j, and then its score from the product. */
__device__ static inline bool score(const sdpa_cuda_args &a, const place &p, int64_t i,
                                    int64_t j, float *x)
{
    if (i >= a.s.tq || j >= a.s.tk || j >= sdpa_seen(&a.s, i))
        return false;
    *x *= a.scale;
    if (a.bias.data)
        *x += cuda_get(a.bias, sdpa_at(&a.s.bias, p.b, p.h, i) + j * a.s.bias_key);
    return true;
}

/* The 16 threads of a row. */
__device__ static inline float row_sum(float x)
{
    for (int o = 8; o; o >>= 1)
        x += __shfl_xor_sync(~0u, x, o);
    return x;
}

__device__ static inline float row_max(float x)
{
    for (int o = 8; o; o >>= 1)
        x = fmaxf(x, __shfl_xor_sync(~0u, x, o));
    return x;
}

/* Scores of four rows become exponentials; max and sum are those of the rows so far, results so far
 * shrink. */
template <int N>
__device__ static inline void soften(float (&s)[4][4], float (&max)[4], float (&sum)[4],
                                     float (&y)[4][N])
{
#pragma unroll
    for (int i = 0; i < 4; i++) {
        float most = max[i], total = 0.0f;
        for (int j = 0; j < 4; j++)
            most = fmaxf(most, s[i][j]);
        most = row_max(most);
        const float shift = most == -INFINITY ? 0.0f : most; /* nothing seen yet */
        const float shrink = expf(max[i] - shift);
        for (int j = 0; j < 4; j++) {
            s[i][j] = expf(s[i][j] - shift);
            total += s[i][j];
        }
        max[i] = most;
        sum[i] = sum[i] * shrink + row_sum(total);
#pragma unroll
        for (int j = 0; j < N; j++)
            y[i][j] *= shrink;
    }
}

template <int C> __device__ static inline void forward(const sdpa_cuda_args &a, float *shared)
{
    float *room = shared + SIDE * PITCH;
    const int ty = (int)threadIdx.x / 16, tx = (int)threadIdx.x % 16;
    const int64_t tiles = tiles_of(a.s.tq), all = a.s.batch * a.s.heads * a.chunks * tiles;
    for (int64_t n = blockIdx.x; n < all; n += gridDim.x) {
        const place p = place_of(a, n, tiles);
        const int64_t i0 = p.tile * SIDE, last = i0 + SIDE < a.s.tq ? i0 + SIDE : a.s.tq;
        const int64_t seen = sdpa_seen(&a.s, last - 1), end = seen < a.s.tk ? seen : a.s.tk;
        const tile_rows q = queries(a, a.q, a.s.q, p, i0), y = queries(a, a.y, a.s.y, p, i0);
        float sum[4] = {}, max[4] = {-INFINITY, -INFINITY, -INFINITY, -INFINITY};
        float result[4][C / 16] = {};
        for (int64_t j0 = 0; j0 < end; j0 += SIDE) {
            float s[4][4];
            multiply(a, q, keys(a, a.k, a.s.k, p, j0), room, s);
            for (int i = 0; i < 4; i++)
                for (int j = 0; j < 4; j++)
                    if (!score(a, p, i0 + 4 * ty + i, j0 + 4 * tx + j, &s[i][j]))
                        s[i][j] = -INFINITY;
            soften(s, max, sum, result);
            accumulate<C>(a, s, keys(a, a.v, a.s.v, p, j0), p.chunk * C, shared, room, result);
        }
        for (int i = 0; i < 4; i++) {
            const int64_t row = i0 + 4 * ty + i;
            if (tx == 0 && p.chunk == 0 && row < a.s.tq)
                cuda_set(a.lse, p.head * a.s.tq + row, max[i] + logf(sum[i]));
            sum[i] = 1.0f / sum[i];
        }
        store<C>(a, result, sum, y, p.chunk * C);
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

/* dq = scale dS k with dS = P (dy v^T - delta), P = exp(scores - lse) */
template <int C> __device__ static inline void by_query(const sdpa_cuda_args &a, float *shared)
{
    float *room = shared + SIDE * PITCH;
    const int ty = (int)threadIdx.x / 16, tx = (int)threadIdx.x % 16;
    const int64_t tiles = tiles_of(a.s.tq), all = a.s.batch * a.s.heads * a.chunks * tiles;
    for (int64_t n = blockIdx.x; n < all; n += gridDim.x) {
        const place p = place_of(a, n, tiles);
        const int64_t i0 = p.tile * SIDE, last = i0 + SIDE < a.s.tq ? i0 + SIDE : a.s.tq;
        const int64_t seen = sdpa_seen(&a.s, last - 1), end = seen < a.s.tk ? seen : a.s.tk;
        const tile_rows q = queries(a, a.q, a.s.q, p, i0), dy = queries(a, a.dy, a.s.y, p, i0);
        float lse[4] = {}, delta[4] = {}, result[4][C / 16] = {};
        for (int i = 0; i < 4 && i0 + 4 * ty + i < a.s.tq; i++) {
            lse[i] = cuda_get(a.lse, p.head * a.s.tq + i0 + 4 * ty + i);
            delta[i] = a.delta[p.head * a.s.tq + i0 + 4 * ty + i];
        }
        for (int64_t j0 = 0; j0 < end; j0 += SIDE) {
            float s[4][4], dp[4][4];
            const tile_rows k = keys(a, a.k, a.s.k, p, j0);
            multiply(a, q, k, room, s);
            multiply(a, dy, keys(a, a.v, a.s.v, p, j0), room, dp);
            for (int i = 0; i < 4; i++)
                for (int j = 0; j < 4; j++) {
                    const bool there = score(a, p, i0 + 4 * ty + i, j0 + 4 * tx + j, &s[i][j]);
                    s[i][j] = there ? expf(s[i][j] - lse[i]) * (dp[i][j] - delta[i]) : 0.0f;
                }
            accumulate<C>(a, s, k, p.chunk * C, shared, room, result);
        }
        const float by[4] = {a.scale, a.scale, a.scale, a.scale};
        store<C>(a, result, by, queries(a, a.dq, a.s.q, p, i0), p.chunk * C);
    }
}

/* dv = P^T dy, dk = scale dS^T q: rows of the tiles are keys here. */
template <int C> __device__ static inline void by_key(const sdpa_cuda_args &a, float *shared)
{
    float *room = shared + SIDE * PITCH;
    const int ty = (int)threadIdx.x / 16, tx = (int)threadIdx.x % 16;
    const int64_t tiles = tiles_of(a.s.tk), all = a.s.batch * a.s.heads * a.chunks * tiles;
    for (int64_t n = blockIdx.x; n < all; n += gridDim.x) {
        const place p = place_of(a, n, tiles);
        const int64_t j0 = p.tile * SIDE, c = p.chunk * C;
        const int64_t unseen = a.s.causal ? j0 + a.s.tq - a.s.tk : 0;
        const tile_rows k = keys(a, a.k, a.s.k, p, j0), v = keys(a, a.v, a.s.v, p, j0);
        float dk[4][C / 16] = {}, dv[4][C / 16] = {};
        for (int64_t i0 = unseen > 0 ? unseen / SIDE * SIDE : 0; i0 < a.s.tq; i0 += SIDE) {
            const tile_rows q = queries(a, a.q, a.s.q, p, i0);
            const tile_rows dy = queries(a, a.dy, a.s.y, p, i0);
            float s[4][4], dp[4][4];
            multiply(a, k, q, room, s);
            multiply(a, v, dy, room, dp);
            for (int j = 0; j < 4; j++) {
                const int64_t i = i0 + 4 * tx + j, row = p.head * a.s.tq + i;
                const float lse = i < a.s.tq ? cuda_get(a.lse, row) : 0.0f;
                const float delta = i < a.s.tq ? a.delta[row] : 0.0f;
                for (int r = 0; r < 4; r++) {
                    const bool there = score(a, p, i, j0 + 4 * ty + r, &s[r][j]);
                    s[r][j] = there ? expf(s[r][j] - lse) : 0.0f;
                    dp[r][j] = there ? s[r][j] * (dp[r][j] - delta) : 0.0f;
                }
            }
            accumulate<C>(a, s, dy, c, shared, room, dv);
            accumulate<C>(a, dp, q, c, shared, room, dk);
        }
        const float by[4] = {a.scale, a.scale, a.scale, a.scale}, one[4] = {1, 1, 1, 1};
        store<C>(a, dk, by, keys(a, a.dk, a.s.k, p, j0), c);
        store<C>(a, dv, one, keys(a, a.dv, a.s.v, p, j0), c);
    }
}

#define COLUMNS(C)                                                                             \
    CUDA_KERNEL(sdpa_##C)(sdpa_cuda_args a)                                                    \
    {                                                                                          \
        CUDA_DYNAMIC_SHARED(float, shared);                                                    \
        forward<C>(a, shared);                                                                 \
    }                                                                                          \
    CUDA_ENTRY(sdpa_##C);                                                                      \
    CUDA_KERNEL(sdpa_by_query_##C)(sdpa_cuda_args a)                                           \
    {                                                                                          \
        CUDA_DYNAMIC_SHARED(float, shared);                                                    \
        by_query<C>(a, shared);                                                                \
    }                                                                                          \
    CUDA_ENTRY(sdpa_by_query_##C);                                                             \
    CUDA_KERNEL(sdpa_by_key_##C)(sdpa_cuda_args a)                                             \
    {                                                                                          \
        CUDA_DYNAMIC_SHARED(float, shared);                                                    \
        by_key<C>(a, shared);                                                                  \
    }                                                                                          \
    CUDA_ENTRY(sdpa_by_key_##C)

COLUMNS(64);
COLUMNS(128);
