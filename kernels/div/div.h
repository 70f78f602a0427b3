/* div.h - a / b. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_DIV_H
#define KERNELS_DIV_H

#include "tutti/rng.h" /* TUTTI_HD */

TUTTI_HD float div_f32(float x, float y)
{
    return x / y;
}

TUTTI_HD double div_f64(double x, double y)
{
    return x / y;
}

#endif
