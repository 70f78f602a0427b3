/* sdpa_place.cuh - which rows of which head a block has, and which keys they see. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_SDPA_SDPA_PLACE_CUH
#define KERNELS_SDPA_SDPA_PLACE_CUH

#include "common/cuda/device.cuh"

#include "sdpa/sdpa_cuda.h"

enum { SIDE = SDPA_SIDE };

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

/* How many keys of the tile from j0 on query i sees, none when there is no such query. */
__device__ static inline int seen_of(const sdpa_cuda_args &a, int64_t i, int64_t j0)
{
    const int64_t seen = sdpa_seen(&a.s, i), n = (seen < a.s.tk ? seen : a.s.tk) - j0;
    return i >= a.s.tq || n < 0 ? 0 : n < SIDE ? (int)n : SIDE;
}

/* How many keys the last query of the tile from i0 sees. */
__device__ static inline int64_t seen_by(const sdpa_cuda_args &a, int64_t i0)
{
    const int64_t last = i0 + SIDE < a.s.tq ? i0 + SIDE : a.s.tq;
    const int64_t seen = sdpa_seen(&a.s, last - 1);
    return seen < a.s.tk ? seen : a.s.tk;
}

#endif
