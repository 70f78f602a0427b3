/* sdpa_tile.cuh - rows of a head, and the two ways to multiply tiles of them: FMA and tensor cores. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_SDPA_SDPA_TILE_CUH
#define KERNELS_SDPA_SDPA_TILE_CUH

#include "common/cuda/vector.cuh"

#include "sdpa/sdpa_cuda.h"

enum { SIDE = SDPA_SIDE };

/* Rows first to first + SIDE - 1 of a head of a tensor; those from `rows` on do not exist. */
struct tile_rows {
    const cuda_tensor &t;
    int64_t at, step; /* of the head; from row to row */
    int64_t first, rows;
};

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

/* The same of 16 bits, as they lie; rows are wide. */
__device__ static inline cuda_words<4> eight_halves(const sdpa_cuda_args &a,
                                                    const tile_rows &from, int r, int64_t c)
{
    const int64_t row = from.first + r, at = from.at + row * from.step + c;
    if (row >= from.rows || c >= a.s.d)
        return {};
    return *reinterpret_cast<const cuda_words<4> *>(static_cast<const uint16_t *>(from.t.data) +
                                                    at);
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

/* Either way says which part of a SIDE x SIDE tile a thread has, rows row(i) and columns column(j),
 * and of results with C columns, result_column(j); how many lanes share a row; and does
 *   multiply:   tile = rows of `left` times rows of `right`
 *   accumulate: sum += tile times columns c to c + C - 1 of the rows of `right`
 * with ROOM floats of `room` in shared memory.  All threads of the block call them. */

/* Any dtypes: 16 x 16 threads with 4 x 4 numbers each, of results 4 in every 64 columns. */
template <int C> struct by_fma {
    static constexpr int ROWS = 4, COLUMNS = 4, RESULTS = C / 16, LANES = 16;
    enum { THREADS = SDPA_FMA_BLOCK, DEPTH = 32, PITCH = SIDE + 4 };
    static constexpr int ROOM = SDPA_FMA_ROOM(C);

    __device__ static inline int row(int i)
    {
        return (int)threadIdx.x / 16 * 4 + i;
    }
    __device__ static inline int column(int j)
    {
        return (int)threadIdx.x % 16 * 4 + j;
    }
    __device__ static inline int result_column(int j)
    {
        return j / 4 * 64 + column(j % 4);
    }

    /* to (DEPTH, SIDE): elements c to c + DEPTH - 1 of the rows, turned. */
    __device__ static inline void load_turned(const sdpa_cuda_args &a, const tile_rows &from,
                                              int64_t c, float *to)
    {
        static_assert((int)THREADS * 8 == SIDE * (int)DEPTH, "eight elements a thread");
        const int r = (int)threadIdx.x % SIDE, e = (int)threadIdx.x / SIDE * 8;
        float x[8];
        eight(a, from, r, c + e, x);
        for (int i = 0; i < 8; i++)
            to[(e + i) * SIDE + r] = x[i];
    }

    /* to (SIDE, C): elements c to c + C - 1 of the rows. */
    __device__ static inline void load_rows(const sdpa_cuda_args &a, const tile_rows &from,
                                            int64_t c, float *to)
    {
        for (int e = (int)threadIdx.x * 8; e < SIDE * C; e += THREADS * 8) {
            float x[8];
            eight(a, from, e / C, c + e % C, x);
            for (int j = 0; j < 8; j += 4) {
                const float half[4] = {x[j], x[j + 1], x[j + 2], x[j + 3]};
                put_four(to + e + j, half);
            }
        }
    }

    __device__ static inline void multiply(const sdpa_cuda_args &a, const tile_rows &left,
                                           const tile_rows &right, float *room,
                                           float (&tile)[ROWS][COLUMNS])
    {
        for (int i = 0; i < 4; i++)
            for (int j = 0; j < 4; j++)
                tile[i][j] = 0.0f;
        for (int64_t c = 0; c < a.s.d; c += DEPTH) {
            __syncthreads();
            load_turned(a, left, c, room);
            load_turned(a, right, c, room + DEPTH * SIDE);
            __syncthreads();
#pragma unroll 8
            for (int k = 0; k < DEPTH; k++) {
                float x[4], y[4];
                four(room + k * SIDE + row(0), x);
                four(room + (DEPTH + k) * SIDE + column(0), y);
                for (int i = 0; i < 4; i++)
                    for (int j = 0; j < 4; j++)
                        tile[i][j] = fmaf(x[i], y[j], tile[i][j]);
            }
        }
    }

    __device__ static inline void accumulate(const sdpa_cuda_args &a,
                                             const float (&tile)[ROWS][COLUMNS],
                                             const tile_rows &right, int64_t c, float *room,
                                             float (&sum)[ROWS][RESULTS])
    {
        float *turned = room + SIDE * C; /* the tile, rows of PITCH floats */
        __syncthreads();
        for (int j = 0; j < 4; j++) {
            const float x[4] = {tile[0][j], tile[1][j], tile[2][j], tile[3][j]};
            put_four(turned + column(j) * PITCH + row(0), x);
        }
        load_rows(a, right, c, room);
        __syncthreads();
#pragma unroll 8
        for (int k = 0; k < SIDE; k++) {
            float x[4], y[4];
            four(turned + k * PITCH + row(0), x);
#pragma unroll
            for (int g = 0; g < C / 64; g++) {
                four(room + k * C + result_column(4 * g), y);
                for (int i = 0; i < 4; i++)
                    for (int j = 0; j < 4; j++)
                        sum[i][4 * g + j] = fmaf(x[i], y[j], sum[i][4 * g + j]);
            }
        }
    }
};

/* sum (16, 8) += left (16, 16) right (16, 8) by a warp.  Lane 4 g + t has of `left` rows g and g + 8 in
 * columns 2 t, 2 t + 1 and, 8 further, two more; of `right` column g in the same places; of `sum` rows
 * g and g + 8 in columns 2 t and 2 t + 1 (PTX ISA, "mma.m16n8k16"). */
template <int DTYPE>
__device__ static inline void warp_multiply(float (&sum)[4], const uint32_t (&left)[4],
                                            const uint32_t (&right)[2])
{
#ifdef __CUDA_ARCH__
    if constexpr (DTYPE == TUTTI_BF16)
        asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
            "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
            : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
            : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "r"(right[0]),
              "r"(right[1]));
    else
        asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
            "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
            : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
            : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "r"(right[0]),
              "r"(right[1]));
#else
    static uint32_t all[SDPA_MMA_BLOCK / 32][32]
                       [6]; /* the emulator's threads run one at a time */
    const int lane = (int)threadIdx.x % 32, g = lane / 4, t = lane % 4;
    uint32_t(&warp)[32][6] = all[threadIdx.x / 32];
    for (int i = 0; i < 6; i++)
        warp[lane][i] = i < 4 ? left[i] : right[i - 4];
    __syncwarp();
    for (int k = 0; k < 8; k++) /* columns 2 k and 2 k + 1 of `left` */
        for (int i = 0; i < 4; i++) {
            const uint32_t x = warp[4 * g + k % 4][k / 4 * 2 + i / 2];
            const uint32_t y = warp[4 * (2 * t + i % 2) + k % 4][4 + k / 4];
            for (int part = 0; part < 32; part += 16)
                sum[i] += cuda_widen(x >> part & 0xFFFFu, DTYPE) *
                          cuda_widen(y >> part & 0xFFFFu, DTYPE);
        }
    __syncwarp();
#endif
}

/* Operands all of one dtype of 16 bits and wide: four warps with 16 rows each.  The tile is rounded
 * to that dtype before it is multiplied again. */
template <int C, int DTYPE> struct by_mma {
    static constexpr int ROWS = 2, COLUMNS = 16, RESULTS = C / 4, LANES = 4;
    enum { THREADS = SDPA_MMA_BLOCK, DEPTH = 64, PITCH = 64 + 8 };
    static constexpr int ROOM = SDPA_MMA_ROOM(C);

    __device__ static inline int row(int i)
    {
        return (int)threadIdx.x / 32 * 16 + (int)threadIdx.x % 32 / 4 + 8 * i;
    }
    __device__ static inline int column(int j)
    {
        return j / 2 * 8 + (int)threadIdx.x % 4 * 2 + j % 2;
    }
    __device__ static inline int result_column(int j)
    {
        return column(j);
    }

    __device__ static inline uint32_t word(const uint16_t *room, int r, int k)
    {
        return *reinterpret_cast<const uint32_t *>(room + r * PITCH + k);
    }

    /* to (SIDE, PITCH): elements c to c + DEPTH - 1 of the rows. */
    __device__ static inline void load_rows(const sdpa_cuda_args &a, const tile_rows &from,
                                            int64_t c, uint16_t *to)
    {
        for (int e = (int)threadIdx.x * 8; e < SIDE * DEPTH; e += THREADS * 8)
            *reinterpret_cast<cuda_words<4> *>(to + e / DEPTH * PITCH + e % DEPTH) =
                eight_halves(a, from, e / DEPTH, c + e % DEPTH);
    }

    /* to (C, PITCH): elements c to c + C - 1 of the rows, turned. */
    __device__ static inline void load_turned(const sdpa_cuda_args &a, const tile_rows &from,
                                              int64_t c, uint16_t *to)
    {
        const int r = (int)threadIdx.x % SIDE;
        for (int e = (int)threadIdx.x / SIDE * 8; e < C; e += THREADS / SIDE * 8) {
            const cuda_words<4> some = eight_halves(a, from, r, c + e);
            for (int i = 0; i < 8; i++)
                to[(e + i) * PITCH + r] = (uint16_t)(some.w[i / 2] >> 16 * (i % 2));
        }
    }

    /* The 8 columns of a product from `first` on, for 16 terms from k on. */
    __device__ static inline void step(const uint16_t *room, int first, int k,
                                       const uint32_t (&left)[4], float *upper, float *lower)
    {
        const int lane = (int)threadIdx.x % 32, r = first + lane / 4, at = k + lane % 4 * 2;
        const uint32_t right[2] = {word(room, r, at), word(room, r, at + 8)};
        float sum[4] = {upper[0], upper[1], lower[0], lower[1]};
        warp_multiply<DTYPE>(sum, left, right);
        upper[0] = sum[0];
        upper[1] = sum[1];
        lower[0] = sum[2];
        lower[1] = sum[3];
    }

    __device__ static inline void multiply(const sdpa_cuda_args &a, const tile_rows &left,
                                           const tile_rows &right, float *room,
                                           float (&tile)[ROWS][COLUMNS])
    {
        uint16_t *ls = reinterpret_cast<uint16_t *>(room), *rs = ls + SIDE * PITCH;
        for (int i = 0; i < ROWS; i++)
            for (int j = 0; j < COLUMNS; j++)
                tile[i][j] = 0.0f;
        for (int64_t c = 0; c < a.s.d; c += DEPTH) {
            __syncthreads();
            load_rows(a, left, c, ls);
            load_rows(a, right, c, rs);
            __syncthreads();
#pragma unroll
            for (int k = 0; k < DEPTH; k += 16) {
                if (c + k >= a.s.d)
                    break;
                const int at = k + (int)threadIdx.x % 4 * 2;
                const uint32_t some[4] = {word(ls, row(0), at), word(ls, row(1), at),
                                          word(ls, row(0), at + 8), word(ls, row(1), at + 8)};
#pragma unroll
                for (int j = 0; j < COLUMNS; j += 2)
                    step(rs, j / 2 * 8, k, some, &tile[0][j], &tile[1][j]);
            }
        }
    }

    __device__ static inline uint32_t pair(const float *x)
    {
        return cuda_narrow(x[0], DTYPE) | cuda_narrow(x[1], DTYPE) << 16;
    }

    __device__ static inline void accumulate(const sdpa_cuda_args &a,
                                             const float (&tile)[ROWS][COLUMNS],
                                             const tile_rows &right, int64_t c, float *room,
                                             float (&sum)[ROWS][RESULTS])
    {
        uint16_t *turned = reinterpret_cast<uint16_t *>(room);
        __syncthreads();
        load_turned(a, right, c, turned);
        __syncthreads();
#pragma unroll
        for (int k = 0; k < SIDE; k += 16) {
            const uint32_t some[4] = {pair(&tile[0][k / 4]), pair(&tile[1][k / 4]),
                                      pair(&tile[0][k / 4 + 2]), pair(&tile[1][k / 4 + 2])};
#pragma unroll
            for (int j = 0; j < RESULTS; j += 2)
                step(turned, j / 2 * 8, k, some, &sum[0][j], &sum[1][j]);
        }
    }
};

#endif
