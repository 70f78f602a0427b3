/* pow.h - a to the power b. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_POW_H
#define KERNELS_POW_H

#include "tutti/rng.h" /* TUTTI_HD */

#include <math.h>

TUTTI_HD float pow_f32(float x, float y)
{
    return powf(x, y);
}

TUTTI_HD double pow_f64(double x, double y)
{
    return pow(x, y);
}

#endif
