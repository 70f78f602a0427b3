/* index_iter.h - index iterator: the offset of an element in up to three operands; the host makes it. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_COMMON_CUDA_INDEX_ITER_H
#define KERNELS_COMMON_CUDA_INDEX_ITER_H

#include "tutti/op.h"

#define CUDA_ITER_OPERANDS 3

/* k / d for k below 2^31 as (high(k magic) + k) >> shift: Granlund and Montgomery, "Division by
 * invariant integers using multiplication" (1994). */
typedef struct cuda_divisor {
    int64_t d;
    uint32_t magic;
    uint32_t shift;
} cuda_divisor;

/* Dense elements 0 ... n - 1 as merged dimensions; operand j is stride[j][k] further on for a step in
 * dimension k (0: repeated). */
typedef struct cuda_index_iter {
    int64_t n;
    int32_t rank; /* at least 1 when ended */
    int32_t wide; /* n is 2^31 or more: plain division */
    int32_t
        group; /* 8: groups of 8 neighbours lie side by side, or are one number, everywhere */
    int32_t reserved;
    cuda_divisor dim[TUTTI_MAX_RANK];
    int64_t stride[CUDA_ITER_OPERANDS][TUTTI_MAX_RANK];
} cuda_index_iter;

#ifndef __cplusplus

static inline cuda_divisor cuda_divisor_of(int64_t d)
{
    cuda_divisor v = {.d = d};
    if (d < 1 || d >= INT64_C(1) << 31)
        return v;
    while (INT64_C(1) << v.shift < d)
        v.shift++;
    v.magic = (uint32_t)((((UINT64_C(1) << v.shift) - (uint64_t)d) << 32) / (uint64_t)d + 1);
    return v;
}

/* One dimension more, inside of those that there are, with operand j's stride in stride[j]. */
static inline void cuda_index_iter_add(cuda_index_iter *w, int64_t dim, const int64_t *stride)
{
    const int32_t last = w->rank - 1;
    int merge = w->rank > 0;
    if (dim == 1)
        return;
    for (int j = 0; j < CUDA_ITER_OPERANDS && merge; j++)
        merge = w->stride[j][last] == stride[j] * dim;
    const int32_t k = merge ? last : w->rank++;
    w->dim[k].d = merge ? w->dim[k].d * dim : dim;
    for (int j = 0; j < CUDA_ITER_OPERANDS; j++)
        w->stride[j][k] = stride[j];
}

/* After the last dimension. */
static inline void cuda_index_iter_end(cuda_index_iter *w)
{
    if (w->rank == 0)
        w->dim[w->rank++].d = 1;
    w->n = 1;
    for (int32_t k = 0; k < w->rank; k++)
        w->n *= w->dim[k].d;
    w->wide = w->n >= INT64_C(1) << 31;
    for (int32_t k = 0; k < w->rank; k++)
        w->dim[k] = cuda_divisor_of(w->dim[k].d);
}

/* The inputs of a call (three at most), broadcast to its first output. */
static inline cuda_index_iter cuda_index_iter_inputs(const tutti_op_call *c)
{
    const tutti_desc *y = &c->out[0];
    int64_t next[CUDA_ITER_OPERANDS] = {1, 1, 1},
            stride[TUTTI_MAX_RANK][CUDA_ITER_OPERANDS] = {{0}};
    cuda_index_iter w = {.rank = 0};
    for (int32_t k = 1; k <= y->rank; k++)
        for (uint32_t j = 0; j < c->nin; j++) {
            const tutti_desc *x = &c->in[j];
            const int64_t dim = k <= x->rank ? x->dim[x->rank - k] : 1;
            stride[y->rank - k][j] = dim == 1 ? 0 : next[j];
            next[j] *= dim;
        }
    for (int32_t k = 0; k < y->rank; k++)
        cuda_index_iter_add(&w, y->dim[k], stride[k]);
    cuda_index_iter_end(&w);
    /* an operand with stride 1 inside has multiples of the last dimension outside */
    w.group = w.rank == 1 || w.dim[w.rank - 1].d % 8 == 0 ? 8 : 1;
    return w;
}

#endif
#endif
