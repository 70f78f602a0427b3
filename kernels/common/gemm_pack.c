/* gemm_pack.c - the whole of b packed, to be kept between runs; panels of factors that have a source. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/gemm_blocks.h"

#include <stdio.h>

/* So many numbers of K of a panel are made at a time that they are still in the first cache when they are packed; a
 * multiple of what a micro-kernel's words come in. */
enum { CUT = 128 };

void gemm_cut_a(const gemm *p, const gemm_data *d, int64_t high, int64_t row, int64_t rows,
                int64_t k, int64_t depth, float *to)
{
    const gemm_microkernel *u = p->microkernel;
    const int64_t words = gemm_words_of(p, depth);
    float part[CUT * GEMM_MAX_ROWS];
    for (int64_t i = 0; i < rows; i += high)
        for (int64_t j = 0; j < depth; j += CUT) {
            const int64_t n = gemm_least(high, rows - i), some = gemm_least(CUT, depth - j);
            const gemm_matrix a = {part, some, 1, p->a_dtype, 0};
            d->a_source(d->source, row + i, n, k + j, some, part);
            u->pack_a(high, n, some, &a,
                      to + (i / high * words + gemm_words_of(p, j)) * u->panel);
        }
}

void gemm_cut_b(const gemm *p, const gemm_data *d, int64_t col, int64_t cols, int64_t k,
                int64_t depth, float *to)
{
    const gemm_microkernel *u = p->microkernel;
    const int64_t words = gemm_words_of(p, depth);
    float part[CUT * GEMM_MAX_COLS];
    for (int64_t i = 0; i < cols; i += u->cols)
        for (int64_t j = 0; j < depth; j += CUT) {
            const int64_t n = gemm_least(u->cols, cols - i), some = gemm_least(CUT, depth - j);
            const gemm_matrix b = {part, n, 1, p->b_dtype, 0};
            d->b_source(d->source, k + j, some, col + i, n, part);
            u->pack_b(u->cols, some, n, &b, to + i * words + gemm_words_of(p, j) * u->cols);
        }
}

/* Parts of K in the whole of b. */
static int64_t whole_parts(const gemm *p)
{
    return p->division == GEMM_DEPTH ? p->parts : 1;
}

uint64_t gemm_packed_bytes(const gemm *p, char layout[GEMM_LAYOUT])
{
    const gemm_microkernel *u = p->microkernel;
    const int64_t deep = u->deep * u->grain;
    (void)snprintf(layout, GEMM_LAYOUT,
                   "%s%lld x %lld by %lld, %lld; %lld of %lld, %lld x %lld",
                   p->factor == TUTTI_F16 ? "f16 " : "", (long long)p->k, (long long)p->n,
                   (long long)p->b_row, (long long)p->b_col, (long long)p->depth,
                   (long long)whole_parts(p), (long long)deep, (long long)u->cols);
    return (uint64_t)(whole_parts(p) * gemm_part_words(p)) * sizeof(float);
}

void gemm_pack_whole(const gemm *p, const void *b, float *to)
{
    const gemm_data d = {.b = b};
    const int64_t parts = whole_parts(p);
#pragma omp parallel for schedule(static) num_threads(p->threads) if (p->threads > 1)
    for (int t = 0; t < p->threads; t++) {
        const int64_t first = gemm_cut(p->n, p->microkernel->cols, t, p->threads);
        const int64_t n = gemm_cut(p->n, p->microkernel->cols, t + 1, p->threads) - first;
        for (int64_t j = 0; j < parts && n; j++) {
            const int64_t begin = p->k * j / parts, end = p->k * (j + 1) / parts;
            for (int64_t k = begin, depth; k < end; k += depth) {
                depth = gemm_least(p->depth, end - k);
                gemm_block_b(p, &d, first, n, k, depth,
                             to + j * gemm_part_words(p) +
                                 gemm_packed_place(p, first, k - begin, depth));
            }
        }
    }
}
