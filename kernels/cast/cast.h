/* cast.h - numbers as whole numbers of a dtype. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_CAST_H
#define KERNELS_CAST_H

#include "tutti/rng.h" /* TUTTI_HD */

/* Towards zero, within [low, high]; 0 for a NaN. */
TUTTI_HD int64_t cast_whole(double x, double low, double high)
{
    if (x != x)
        return 0;
    if (x <= low)
        return (int64_t)low;
    /* 2^63 is the first f64 that is too large for i64 */
    return x < high ? (int64_t)x : high >= 9223372036854775808.0 ? INT64_MAX : (int64_t)high;
}

TUTTI_HD int64_t cast_within(int64_t x, int64_t low, int64_t high)
{
    return x < low ? low : x > high ? high : x;
}

#endif
