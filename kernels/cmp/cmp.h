/* cmp.h - comparisons of two numbers. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_CMP_H
#define KERNELS_CMP_H

#include "tutti/rng.h" /* TUTTI_HD */

/* kind: 0 x == y, 1 x != y, 2 x < y, 3 x <= y, 4 x > y, 5 x >= y; the result is 0 or 1. */
typedef struct cmp_attr {
    int64_t kind;
} cmp_attr;

TUTTI_HD double cmp_f64(double x, double y, const cmp_attr *a)
{
    switch (a->kind) {
    case 0:
        return x == y;
    case 1:
        return x != y;
    case 2:
        return x < y;
    case 3:
        return x <= y;
    case 4:
        return x > y;
    default:
        return x >= y;
    }
}

/* The same without branches on x and y: what the kind says of less, equal, greater and neither. */
TUTTI_HD float cmp_f32(float x, float y, const cmp_attr *a)
{
    const float less = (float)(0x0E >> a->kind & 1), equal = (float)(0x29 >> a->kind & 1);
    const float greater = (float)(0x32 >> a->kind & 1), neither = (float)(0x02 >> a->kind & 1);
    const float above = x > y ? greater : neither, level = x == y ? equal : above;
    return x < y ? less : level;
}

#endif
