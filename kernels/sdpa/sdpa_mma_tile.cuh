/* sdpa_mma_tile.cuh - tiles of attention on tensor cores: what a lane has of them, copies, products, stores. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_SDPA_SDPA_MMA_TILE_CUH
#define KERNELS_SDPA_SDPA_MMA_TILE_CUH

#include "common/cuda/mma.cuh"

#include "sdpa/sdpa_place.cuh"

namespace mma
{

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

} // namespace mma

#endif
