/* clamp.h - x kept within [min, max]; a NaN stays one. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_CLAMP_H
#define KERNELS_CLAMP_H

#include "tutti/rng.h" /* TUTTI_HD */

typedef struct clamp_attr {
    double min;
    double max;
} clamp_attr;

TUTTI_HD float clamp_f32(float x, const clamp_attr *a)
{
    const float low = x < (float)a->min ? (float)a->min : x;
    return low > (float)a->max ? (float)a->max : low;
}

TUTTI_HD double clamp_f64(double x, const clamp_attr *a)
{
    const double low = x < a->min ? a->min : x;
    return low > a->max ? a->max : low;
}

#endif
