/* axis.h - a tensor seen round one axis: (outer, n, inner). */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_COMMON_AXIS_H
#define KERNELS_COMMON_AXIS_H

#include "common/op_util.h"

typedef struct axis_view {
    int32_t axis;
    int32_t reserved;
    int64_t outer;
    int64_t n; /* the axis */
    int64_t inner;
} axis_view;

/* `axis` may be negative; infer has checked it. */
static inline axis_view axis_of(const tutti_desc *d, int64_t axis)
{
    axis_view v = {.axis = 0, .outer = 1, .n = 1, .inner = 1};
    (void)op_axis("", axis, d->rank, &v.axis, NULL);
    for (int32_t k = 0; k < d->rank; k++)
        *(k < v.axis ? &v.outer : k == v.axis ? &v.n : &v.inner) *= d->dim[k];
    return v;
}

#endif
