/* rsqrt.h - 1 / sqrt(x). */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_RSQRT_H
#define KERNELS_RSQRT_H

#include "tutti/rng.h" /* TUTTI_HD */

#include <math.h>

TUTTI_HD float rsqrt_f32(float x)
{
    return 1.0f / sqrtf(x);
}

TUTTI_HD double rsqrt_f64(double x)
{
    return 1.0 / sqrt(x);
}

#endif
