/* sdpa_fma.cuh - tiles of a head of any dtype and width, multiplied in f32. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_SDPA_SDPA_FMA_CUH
#define KERNELS_SDPA_SDPA_FMA_CUH

#include "common/cuda/vector.cuh"

#include "sdpa/sdpa_place.cuh"

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

/* Which part of a SIDE x SIDE tile a thread has, rows row(i) and columns column(j), and of results with C
 * columns, result_column(j); how many lanes share a row; and what is done with tiles:
 *   multiply:   tile = rows of `left` times rows of `right`
 *   accumulate: sum += tile times columns c to c + C - 1 of the rows of `right`
 * with SHARED floats of `shared` in shared memory.  All threads of the block call them.
 * 16 x 16 threads have 4 x 4 numbers each, of results 4 in every 64 columns. */
template <int C> struct by_fma {
    static constexpr int ROWS = 4, COLUMNS = 4, RESULTS = C / 16, SIMD_LANES = 16;
    enum { THREADS = SDPA_FMA_BLOCK, DEPTH = 32, PITCH = SIDE + 4 };
    static constexpr int SHARED = SDPA_FMA_SHARED(C);

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

    /* to (DEPTH, SIDE): elements c to c + DEPTH - 1 of the rows, transposed. */
    __device__ static inline void load_transposed(const sdpa_cuda_args &a,
                                                  const tile_rows &from, int64_t c, float *to)
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
                                           const tile_rows &right, float *shared,
                                           float (&tile)[ROWS][COLUMNS])
    {
        for (int i = 0; i < 4; i++)
            for (int j = 0; j < 4; j++)
                tile[i][j] = 0.0f;
        for (int64_t c = 0; c < a.s.d; c += DEPTH) {
            __syncthreads();
            load_transposed(a, left, c, shared);
            load_transposed(a, right, c, shared + DEPTH * SIDE);
            __syncthreads();
#pragma unroll 8
            for (int k = 0; k < DEPTH; k++) {
                float x[4], y[4];
                four(shared + k * SIDE + row(0), x);
                four(shared + (DEPTH + k) * SIDE + column(0), y);
                for (int i = 0; i < 4; i++)
                    for (int j = 0; j < 4; j++)
                        tile[i][j] = fmaf(x[i], y[j], tile[i][j]);
            }
        }
    }

    __device__ static inline void accumulate(const sdpa_cuda_args &a,
                                             const float (&tile)[ROWS][COLUMNS],
                                             const tile_rows &right, int64_t c, float *shared,
                                             float (&sum)[ROWS][RESULTS])
    {
        float *transposed = shared + SIDE * C; /* the tile, rows of PITCH floats */
        __syncthreads();
        for (int j = 0; j < 4; j++) {
            const float x[4] = {tile[0][j], tile[1][j], tile[2][j], tile[3][j]};
            put_four(transposed + column(j) * PITCH + row(0), x);
        }
        load_rows(a, right, c, shared);
        __syncthreads();
#pragma unroll 8
        for (int k = 0; k < SIDE; k++) {
            float x[4], y[4];
            four(transposed + k * PITCH + row(0), x);
#pragma unroll
            for (int g = 0; g < C / 64; g++) {
                four(shared + k * C + result_column(4 * g), y);
                for (int i = 0; i < 4; i++)
                    for (int j = 0; j < 4; j++)
                        sum[i][4 * g + j] = fmaf(x[i], y[j], sum[i][4 * g + j]);
            }
        }
    }
};

#endif
