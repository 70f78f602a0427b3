/* max.h - the greater of two; a NaN wins. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_MAX_H
#define KERNELS_MAX_H

#include "tutti/rng.h" /* TUTTI_HD */

TUTTI_HD float max_f32(float x, float y)
{
    return x > y || x != x ? x : y;
}

TUTTI_HD double max_f64(double x, double y)
{
    return x > y || x != x ? x : y;
}

#endif
