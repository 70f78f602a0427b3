/* gemm_store.c - the epilogue that stores a product in 16 bits. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/gemm.h"
#include "common/half_rows.h"

void gemm_store_half(const void *how, const gemm_part *part)
{
    const gemm_half_store *to = how;
    for (int64_t i = 0; i < part->rows; i++)
        half_downcast(part->values + i * part->values_row,
                      to->y + (part->row + i) * to->row + part->col, to->dtype, part->cols);
}
