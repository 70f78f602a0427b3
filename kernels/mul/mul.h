/* mul.h - a b. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_MUL_H
#define KERNELS_MUL_H

#include "tutti/rng.h" /* TUTTI_HD */

TUTTI_HD float mul_f32(float x, float y)
{
    return x * y;
}

TUTTI_HD double mul_f64(double x, double y)
{
    return x * y;
}

#endif
