/* recip.h - 1 / x. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_RECIP_H
#define KERNELS_RECIP_H

#include "tutti/rng.h" /* TUTTI_HD */

TUTTI_HD float recip_f32(float x)
{
    return 1.0f / x;
}

TUTTI_HD double recip_f64(double x)
{
    return 1.0 / x;
}

#endif
