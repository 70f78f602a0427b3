/* sdpa_mma.cuh - flash attention by tensor core (mma): operands of one dtype of 16 bits, up to 128 elements a row. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_SDPA_SDPA_MMA_CUH
#define KERNELS_SDPA_SDPA_MMA_CUH

#include "sdpa/sdpa_mma_score.cuh"

/* After Dao, "FlashAttention-2" (2023).  A block of four warps has SIDE rows of one operand, each warp 16; tiles
 * of the other come by asynchronous copies, the next one while this one is worked on.  Tiles lie in shared
 * memory as rows of C numbers, which cuda_eight_at swizzles so that no banks collide; columns behind D are
 * zeros, and steps of 16 behind it are left out.  Scores are in powers of two. */

namespace mma
{

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
            cuda_set(a.lse, p.head * a.s.tq + r, SDPA_LN2 * max[i] + logf(sum[i]));
        sum[i] = a.keep / sum[i];
    }
    store<DTYPE, C>(queries(a, a.y, a.s.y, p, i0), q.d, y, sum, shared);
}

} // namespace mma

#endif
