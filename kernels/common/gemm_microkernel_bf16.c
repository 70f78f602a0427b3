/* gemm_microkernel_bf16.c - the GEMM micro-kernel for bf16 factors and f32 sums: pairs along K, vdpbf16ps. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/gemm_microkernel.h"
#include "common/simd.h"

#if defined(__AVX512BF16__) && !defined(SIMD_AMX_BF16)
#include "common/gemm_pack_pairs.h"

#define INLINE SIMD_INLINE

enum { ROWS = 14, COLS = 32 };

/* ---- tiles ---- */

GEMM_MICROKERNEL_LOOP(loop, f32x16, GEMM_FMA_BF16)
GEMM_PACKED_TILE(tile, f32x16, 2, loop)

#define TILES(M) M(1) M(2) M(3) M(4) M(5) M(6) M(7) M(8) M(9) M(10) M(11) M(12) M(13) M(14)
GEMM_TILES(TILES);

/* ---- panels ---- */

INLINE void pack_a_of(int64_t high, int64_t rows, int64_t k, const gemm_matrix *a,
                      int32_t dtype, float *to)
{
    const int64_t words = (k + 1) / 2, size = gemm_number_bytes(dtype);
    for (int64_t i = 0; i < rows && a->row != 1; i += high)
        gemm_along(rows - i < high ? rows - i : high, k, a, i * a->row, a->row, dtype,
                   to + i / high * words * GEMM_A, GEMM_A);
    for (int64_t top = 0; top < k && a->row == 1; top += GEMM_ROWS_AT_ONCE) {
        const int64_t end = k - top < GEMM_ROWS_AT_ONCE ? k : top + GEMM_ROWS_AT_ONCE;
        gemm_ahead ahead =
            gemm_ahead_of(gemm_place(a, top * a->col), a->col * size, rows * size);
        for (int64_t i = 0, p = 0; i < rows; i += high, p++) {
            const int64_t n = rows - i < high ? rows - i : high;
            float *at = to + p * words * GEMM_A;
            for (int64_t j = top; j < end; j += 2) {
                const char *low = gemm_place(a, j * a->col + i);
                const char *next = j + 1 < k ? low + a->col * size : NULL;
                gemm_ask(&ahead, dtype);
                _mm512_storeu_si512(at + j / 2 * GEMM_A, gemm_across(low, next, dtype, n));
            }
        }
    }
}

static void pack_a(int64_t high, int64_t rows, int64_t k, const gemm_matrix *a, float *to)
{
    if (a->dtype == TUTTI_BF16)
        pack_a_of(high, rows, k, a, TUTTI_BF16, to);
    else
        pack_a_of(high, rows, k, a, TUTTI_F32, to);
}

static void pack_b(int64_t wide, int64_t k, int64_t cols, const gemm_matrix *b, float *to)
{
    (void)wide; /* COLS */
    gemm_pack_columns(COLS, 1, k, cols, b, to);
}

const gemm_microkernel gemm_microkernel_bf16 = {.rows = ROWS,
                                                .cols = COLS,
                                                .step = 1,
                                                .panel = GEMM_A,
                                                .deep = 2,
                                                .grain = 1,
                                                .words = 384,
                                                .tile = tiles,
                                                .pack_a = pack_a,
                                                .pack_b = pack_b};
#elif !defined(SIMD_AMX_BF16) && !defined(__ARM_FEATURE_BF16_VECTOR_ARITHMETIC)
const gemm_microkernel gemm_microkernel_bf16 = {0};
#endif
