/* reduction.h - axes that are summed over, as groups: which result a number belongs to, and the definition. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_COMMON_REDUCTION_H
#define KERNELS_COMMON_REDUCTION_H

#include "tutti/op.h"

/* Neighbouring axes that are all reduced, or all kept, merged; the first may be of either sort. */
typedef struct reduction {
    int32_t rank;
    int32_t reserved;
    int64_t dim[TUTTI_MAX_RANK];
    int32_t reduced[TUTTI_MAX_RANK];
} reduction;

static inline reduction reduction_make(const tutti_desc *x, const int32_t *reduced)
{
    reduction r = {0};
    for (int32_t k = 0; k < x->rank; k++) {
        if (r.rank && r.reduced[r.rank - 1] == reduced[k])
            r.dim[r.rank - 1] *= x->dim[k];
        else {
            r.dim[r.rank] = x->dim[k];
            r.reduced[r.rank++] = reduced[k];
        }
    }
    return r;
}

/* Which result element i of x belongs to. */
static inline int64_t reduction_at(const reduction *r, int64_t i)
{
    int64_t at = 0, stride = 1;
    for (int32_t k = r->rank - 1; k >= 0; k--) {
        if (!r->reduced[k]) {
            at += i % r->dim[k] * stride;
            stride *= r->dim[k];
        }
        i /= r->dim[k];
    }
    return at;
}

/* Adds up in f64, element by element: the definition. */
static inline void reduction_reference(const reduction *r, const double *x, double *y,
                                       int64_t nx, int64_t ny)
{
    for (int64_t i = 0; i < ny; i++)
        y[i] = 0.0;
    for (int64_t i = 0; i < nx; i++)
        y[reduction_at(r, i)] += x[i];
}

/* As (outer, reduced, inner), any of them 1; 0 when the axes are not of that form. */
static inline int reduction_simple(const reduction *r, int64_t *outer, int64_t *mid,
                                   int64_t *inner)
{
    int32_t k = 0;
    *outer = *mid = *inner = 1;
    if (k < r->rank && !r->reduced[k])
        *outer = r->dim[k++];
    if (k < r->rank && r->reduced[k])
        *mid = r->dim[k++];
    if (k < r->rank && !r->reduced[k])
        *inner = r->dim[k++];
    return k == r->rank;
}

#endif
