/* neg.h - -x. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_NEG_H
#define KERNELS_NEG_H

#include "tutti/rng.h" /* TUTTI_HD */

TUTTI_HD float neg_f32(float x)
{
    return -x;
}

TUTTI_HD double neg_f64(double x)
{
    return -x;
}

#endif
