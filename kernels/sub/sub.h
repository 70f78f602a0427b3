/* sub.h - a - b. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_SUB_H
#define KERNELS_SUB_H

#include "tutti/rng.h" /* TUTTI_HD */

TUTTI_HD float sub_f32(float x, float y)
{
    return x - y;
}

TUTTI_HD double sub_f64(double x, double y)
{
    return x - y;
}

#endif
