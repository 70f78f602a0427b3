/* isa_store.c - rounding to bf16 as kernels of each level do it. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/half_rows.h"
#include "common/simd.h"
#include "isa_level.h"

void isa_store(const float *x, uint16_t *ret_simd, uint16_t *ret_rows)
{
    for (int k = 0; k < 16; k += SIMD_WIDTH)
        simd_store_bf16((const simd_f32 *)(x + k), ret_simd + k);
    half_downcast(x, ret_rows, TUTTI_BF16, 16);
}
