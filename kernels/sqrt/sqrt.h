/* sqrt.h - the square root. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_SQRT_H
#define KERNELS_SQRT_H

#include "tutti/rng.h" /* TUTTI_HD */

#include <math.h>

TUTTI_HD float sqrt_f32(float x)
{
    return sqrtf(x);
}

TUTTI_HD double sqrt_f64(double x)
{
    return sqrt(x);
}

#endif
