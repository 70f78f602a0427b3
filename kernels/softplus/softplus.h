/* softplus.h - log(1 + exp(x)), without overflow, and exact where exp(x) is small. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_SOFTPLUS_H
#define KERNELS_SOFTPLUS_H

#include "common/fastmath.h"

/* log(1 + e) = log(u) e / (u - 1), u = 1 + e rounded: what rounding took is given back. */
FAST_HD float softplus_f32(float x)
{
    const float e = fast_exp_down(x > 0.0f ? -x : x), u = 1.0f + e, d = u - 1.0f;
    const float l = d > 0.0f ? fast_log(u) * (e / d) : e;
    return (x > 0.0f ? x : 0.0f) + l;
}

TUTTI_HD double softplus_f64(double x)
{
    return (x > 0.0 ? x : 0.0) + log1p(exp(x > 0.0 ? -x : x));
}

#endif
