/* axpby.h - a x + b y. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_AXPBY_H
#define KERNELS_AXPBY_H

#include "tutti/rng.h" /* TUTTI_HD */

typedef struct axpby_attr {
    double a;
    double b;
} axpby_attr;

TUTTI_HD float axpby_f32(float x, float y, const axpby_attr *a)
{
    return (float)a->a * x + (float)a->b * y;
}

TUTTI_HD double axpby_f64(double x, double y, const axpby_attr *a)
{
    return a->a * x + a->b * y;
}

#endif
