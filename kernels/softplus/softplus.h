/* softplus.h - log(1 + exp(x)), without overflow, and exact where exp(x) is small. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_SOFTPLUS_H
#define KERNELS_SOFTPLUS_H

#include "tutti/rng.h" /* TUTTI_HD */

#include <math.h>

TUTTI_HD float softplus_f32(float x)
{
    return (x > 0.0f ? x : 0.0f) + log1pf(expf(x > 0.0f ? -x : x));
}

TUTTI_HD double softplus_f64(double x)
{
    return (x > 0.0 ? x : 0.0) + log1p(exp(x > 0.0 ? -x : x));
}

#endif
