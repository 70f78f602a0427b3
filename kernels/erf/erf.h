/* erf.h - the error function. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_ERF_H
#define KERNELS_ERF_H

#include "common/fastmath.h"

TUTTI_HD float erf_f32(float x)
{
    return fast_erf(x);
}

TUTTI_HD double erf_f64(double x)
{
    return erf(x);
}

#endif
