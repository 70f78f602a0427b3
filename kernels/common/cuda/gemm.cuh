/* gemm.cuh - the GEMM micro-kernel on a GPU, tile by tile: matrix products and convolutions of any shape. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_COMMON_CUDA_GEMM_CUH
#define KERNELS_COMMON_CUDA_GEMM_CUH

#include "common/cuda/device.cuh"

/* A block of CUDA_BLOCK threads makes 64 x 64 results, 16 terms at a time; a thread has 4 x 4. */
enum { PRODUCT_SIDE = 64, PRODUCT_DEPTH = 16, PRODUCT_TILE = PRODUCT_SIDE * PRODUCT_DEPTH };

/* `count` products of m x k by k x n, each sum cut into `splits` parts of `part` terms. */
struct gemm_size {
    int64_t count, m, n, k, splits, part;
};

/* Columns of 16 threads read what lies side by side: along k, or along the rows (columns). */
template <class T>
__device__ static inline void gemm_load_tile(const T &t, float *tile, int64_t p, int64_t first,
                                             int64_t last, int64_t k, int64_t k_end)
{
    for (int e = (int)threadIdx.x; e < PRODUCT_TILE; e += CUDA_BLOCK) {
        const int d = t.along_k ? e % PRODUCT_DEPTH : e / PRODUCT_SIDE;
        const int r = t.along_k ? e / PRODUCT_DEPTH : e % PRODUCT_SIDE;
        const bool inside = first + r < last && k + d < k_end;
        tile[d * PRODUCT_SIDE + r] = inside ? t.at(p, first + r, k + d) : 0.0f;
    }
}

/* y.put(p, split, i, j, sum) for each result, of a.at(p, i, k) b.at(p, j, k); `as` and `bs` are shared
 * tiles.  All threads of the block call it. */
template <class A, class B, class Y>
__device__ static inline void gemm_tiles(const gemm_size &s, const A &a, const B &b, const Y &y,
                                         float *as, float *bs)
{
    const int64_t rows = (s.m + PRODUCT_SIDE - 1) / PRODUCT_SIDE;
    const int64_t columns = (s.n + PRODUCT_SIDE - 1) / PRODUCT_SIDE;
    const int ty = (int)threadIdx.x / 16, tx = (int)threadIdx.x % 16;
    for (int64_t t = blockIdx.x; t < s.count * s.splits * rows * columns; t += gridDim.x) {
        const int64_t j0 = t % columns * PRODUCT_SIDE, i0 = t / columns % rows * PRODUCT_SIDE;
        const int64_t split = t / columns / rows % s.splits, p = t / columns / rows / s.splits;
        const int64_t begin = split * s.part;
        const int64_t end = begin + s.part < s.k ? begin + s.part : s.k;
        float sum[16] = {};
        for (int64_t k = begin; k < end; k += PRODUCT_DEPTH) {
            gemm_load_tile(a, as, p, i0, s.m, k, end);
            gemm_load_tile(b, bs, p, j0, s.n, k, end);
            __syncthreads();
            for (int d = 0; d < PRODUCT_DEPTH; d++)
#pragma unroll
                for (int j = 0; j < 4; j++) {
                    if (j0 + 16 * j >= s.n) /* a narrow matrix leaves columns empty */
                        break;
#pragma unroll
                    for (int i = 0; i < 4; i++)
                        sum[4 * i + j] += as[d * PRODUCT_SIDE + ty + 16 * i] *
                                          bs[d * PRODUCT_SIDE + tx + 16 * j];
                }
            __syncthreads();
        }
#pragma unroll
        for (int e = 0; e < 16; e++)
            if (i0 + ty + 16 * (e / 4) < s.m && j0 + tx + 16 * (e % 4) < s.n)
                y.put(p, split, i0 + ty + 16 * (e / 4), j0 + tx + 16 * (e % 4), sum[e]);
    }
}

#endif
