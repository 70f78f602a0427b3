/* affine.h - scale x + shift. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_AFFINE_H
#define KERNELS_AFFINE_H

#include "tutti/rng.h" /* TUTTI_HD */

typedef struct affine_attr {
    double scale;
    double shift;
} affine_attr;

TUTTI_HD float affine_f32(float x, const affine_attr *a)
{
    return (float)a->scale * x + (float)a->shift;
}

TUTTI_HD double affine_f64(double x, const affine_attr *a)
{
    return a->scale * x + a->shift;
}

#endif
