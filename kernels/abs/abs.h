/* abs.h - the absolute value. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_ABS_H
#define KERNELS_ABS_H

#include "tutti/rng.h" /* TUTTI_HD */

#include <math.h>

TUTTI_HD float abs_f32(float x)
{
    return fabsf(x);
}

TUTTI_HD double abs_f64(double x)
{
    return fabs(x);
}

#endif
