/* min.h - the lesser of two; a NaN wins. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_MIN_H
#define KERNELS_MIN_H

#include "tutti/rng.h" /* TUTTI_HD */

TUTTI_HD float min_f32(float x, float y)
{
    return x < y || x != x ? x : y;
}

TUTTI_HD double min_f64(double x, double y)
{
    return x < y || x != x ? x : y;
}

#endif
