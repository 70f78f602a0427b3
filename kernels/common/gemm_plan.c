/* gemm_plan.c - the plan of a large GEMM: its micro-kernel, what threads divide, how much of K and of b is packed at a time. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/gemm_blocks.h"

const gemm_microkernel *gemm_microkernel_at(int32_t factor, int k)
{
    const tutti_isa_table *all = factor == TUTTI_BF16  ? &gemm_microkernel_bf16_isa
                                 : factor == TUTTI_F16 ? &gemm_microkernel_f16_isa
                                                       : &gemm_microkernel_f32_isa;
    const gemm_microkernel *last = NULL;
    for (int32_t level = tutti_isa(); level >= 0; level--) {
        const gemm_microkernel *u = tutti_isa_at(all, level);
        if (tutti_isa_has(level) && u->rows &&
            (!last || u->rows != last->rows || u->deep != last->deep)) {
            if (k-- == 0)
                return u;
            last = u;
        }
    }
    return NULL;
}

/* Do all rows lie packed at once? */
static int is_few(const gemm *p)
{
    return p->m <= GEMM_BLOCK_PANELS * p->microkernel->rows;
}

/* Few rows whose K is so long that, packed, they and b's columns are more than the second cache holds. */
static int is_deep(const gemm *p)
{
    return is_few(p) && p->m * gemm_words_of(p, p->k) > GEMM_DEEP_WORDS;
}

/* Few rows whose K is so long that, packed for all of K, they are more than the third cache holds. */
static int is_endless(const gemm *p)
{
    return p->m * gemm_words_of(p, p->k) > GEMM_SHARED_WORDS;
}

/* Long sums of few numbers: their parts.  Else the longer side of y.  Sums that are not stored have room for one block
 * of rows.  Where a lies transposed, y is the gradient of a weight, whose rows the same threads update and read next. */
static int32_t divide(const gemm *p)
{
    const gemm_microkernel *u = p->microkernel;
    const int64_t longest = p->m > p->n ? p->m : p->n;
    const int wide = p->m < p->n && gemm_parts_of(p->n, u->cols) >= 2 * p->threads;
    if (!p->unstored && p->parts * longest <= p->k)
        return GEMM_DEPTH;
    if (p->unstored && (!is_few(p) || (p->b_col == 1 && is_endless(p))))
        return GEMM_ROWS;
    if (p->a_col != 1 && gemm_parts_of(p->m, u->rows) >= 2 * p->threads)
        return GEMM_ROWS;
    return wide ? GEMM_COLUMNS : GEMM_ROWS;
}

/* So much of K at a time that the parts are equal, in whole words and eight of them. */
static int64_t depth_of(const gemm *p, int64_t k)
{
    const gemm_microkernel *u = p->microkernel;
    const int64_t unit = u->deep * (u->grain > 8 ? u->grain : 8);
    return gemm_parts_of(gemm_parts_of(k, gemm_parts_of(k, u->words * u->deep)), unit) * unit;
}

tutti_status gemm_plan(gemm *p, uint64_t *ret_scratch)
{
    const int64_t t = p->threads;
    if (!p->microkernel)
        p->microkernel = gemm_microkernel_at(p->factor, 0);
    if (!p->microkernel)
        return TUTTI_E_UNSUPPORTED;
    if (!p->parts)
        p->parts = p->threads;
    if (p->division == GEMM_ANY)
        p->division = divide(p);
    p->depth = depth_of(p, p->division == GEMM_DEPTH ? gemm_parts_of(p->k, p->parts) : p->k);
    p->columns = gemm_parts_of(GEMM_SHARED_WORDS, p->k * GEMM_BLOCK_COLS) * GEMM_BLOCK_COLS;
    if (p->columns < 4 * GEMM_BLOCK_COLS)
        p->columns = 4 * GEMM_BLOCK_COLS;
    p->columns = gemm_least(p->columns, gemm_b_width(p, p->n));
    p->turn = is_deep(p) && p->division == GEMM_ROWS ? p->depth : p->k;
    const int64_t words = gemm_words_of(p, p->depth), rest = p->microkernel->grain;
    const int64_t all = gemm_words_of(p, p->k) + rest;
    int64_t floats;
    if (p->division == GEMM_ROWS)
        floats = t * gemm_rows_scratch(p) + p->columns * (gemm_words_of(p, p->turn) + rest);
    else if (p->division == GEMM_COLUMNS)
        floats = t * gemm_columns_scratch(p) + gemm_a_width(p, p->m) * all;
    else
        floats = p->parts * (gemm_a_scratch(p) + gemm_b_width(p, p->n) * words) +
                 (p->parts - 1) * p->m * p->n;
    *ret_scratch = (uint64_t)floats * sizeof(float);
    return TUTTI_OK;
}
