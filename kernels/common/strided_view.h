/* strided_view.h - a strided view of a tensor: as few dimensions as possible, where each row begins. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_COMMON_STRIDED_VIEW_H
#define KERNELS_COMMON_STRIDED_VIEW_H

#include "tutti/tensor.h"

/* A view: element (i0, i1 ...) lies at offset + sum of i_k * stride_k elements. */
typedef struct strided {
    int32_t rank;
    int32_t reserved;
    int64_t offset;
    int64_t dim[TUTTI_MAX_RANK];
    int64_t stride[TUTTI_MAX_RANK];
} strided;

static inline strided strided_dense(const tutti_desc *d)
{
    strided v = {.rank = d->rank};
    int64_t stride = 1;
    for (int32_t k = d->rank - 1; k >= 0; k--) {
        v.dim[k] = d->dim[k];
        v.stride[k] = stride;
        stride *= d->dim[k];
    }
    return v;
}

/* The same elements in as few dimensions as possible, at least one. */
static inline strided strided_merged(const strided *v)
{
    strided m = {.rank = 0, .offset = v->offset};
    for (int32_t k = 0; k < v->rank; k++) {
        const int32_t p = m.rank - 1;
        if (v->dim[k] == 1)
            continue;
        if (p >= 0 && m.stride[p] == v->stride[k] * v->dim[k]) {
            m.dim[p] *= v->dim[k];
            m.stride[p] = v->stride[k];
            continue;
        }
        m.dim[m.rank] = v->dim[k];
        m.stride[m.rank++] = v->stride[k];
    }
    if (m.rank == 0) {
        m.dim[0] = m.stride[0] = 1;
        m.rank = 1;
    }
    return m;
}

/* Where row `row` (all dimensions but the last, in dense order) begins. */
static inline int64_t strided_row(const strided *v, int64_t row)
{
    int64_t at = v->offset;
    for (int32_t k = v->rank - 2; k > 0; k--) {
        at += row % v->dim[k] * v->stride[k];
        row /= v->dim[k];
    }
    return v->rank > 1 ? at + row * v->stride[0] : at;
}

/* The same, row by row, without a division for each. */
typedef struct strided_iter {
    int64_t at;
    int64_t i[TUTTI_MAX_RANK];
} strided_iter;

static inline strided_iter strided_iter_from(const strided *v, int64_t row)
{
    strided_iter w = {.at = strided_row(v, row)};
    for (int32_t k = v->rank - 2; k >= 0; k--) {
        w.i[k] = row % v->dim[k];
        row /= v->dim[k];
    }
    return w;
}

static inline void strided_iter_on(const strided *v, strided_iter *w)
{
    for (int32_t k = v->rank - 2; k >= 0; k--) {
        w->at += v->stride[k];
        if (++w->i[k] < v->dim[k])
            return;
        w->at -= v->dim[k] * v->stride[k];
        w->i[k] = 0;
    }
}

/* Which dimension of a merged view has its elements side by side; the last one when none has. */
static inline int32_t strided_side(const strided *v)
{
    for (int32_t k = 0; k + 1 < v->rank; k++)
        if (v->stride[k] == 1)
            return k;
    return v->rank - 1;
}

#endif
