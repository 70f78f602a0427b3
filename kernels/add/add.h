/* add.h - a + b. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_ADD_H
#define KERNELS_ADD_H

#include "tutti/rng.h" /* TUTTI_HD */

TUTTI_HD float add_f32(float x, float y)
{
    return x + y;
}

TUTTI_HD double add_f64(double x, double y)
{
    return x + y;
}

#endif
