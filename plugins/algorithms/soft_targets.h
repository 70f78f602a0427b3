/* soft_targets.h - a target as a probability, once, for every device. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_SOFT_TARGETS_H
#define PLUGIN_SOFT_TARGETS_H

#include "tutti/cuda_code.h"

#include <math.h>

/* What targets are: classes (rows) of i32 or i64, or probabilities (rows, classes) of f32. */
enum { SOFT_I32, SOFT_I64, SOFT_F32 };

/* The class of rows that count in no loss; its probabilities are all 0, and stay so. */
enum { SOFT_IGNORED = -100 };

TUTTI_SHARED int64_t soft_class(const void *targets, int32_t kind, int64_t row)
{
    return kind == SOFT_I32 ? ((const int32_t *)targets)[row] : ((const int64_t *)targets)[row];
}

/* Whether a row counts. */
TUTTI_SHARED int32_t soft_counts(const void *targets, int32_t kind, int64_t row,
                                 int64_t classes)
{
    if (kind != SOFT_F32)
        return soft_class(targets, kind, row) != SOFT_IGNORED;
    const float *y = (const float *)targets + row * classes;
    int64_t c = 0;
    while (c < classes && y[c] == 0.0f)
        c++;
    return c < classes;
}

/* The probability of class `c` in a row; NaN throughout a row whose class is impossible. */
TUTTI_SHARED float soft_at(const void *targets, int32_t kind, int64_t row, int64_t c,
                           int64_t classes)
{
    if (kind == SOFT_F32)
        return ((const float *)targets)[row * classes + c];
    const int64_t k = soft_class(targets, kind, row);
    if (k == SOFT_IGNORED)
        return 0.0f;
    return k < 0 || k >= classes ? NAN : k == c ? 1.0f : 0.0f;
}

#endif
