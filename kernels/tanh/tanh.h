/* tanh.h - the hyperbolic tangent. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_TANH_H
#define KERNELS_TANH_H

#include "common/fastmath.h"

TUTTI_HD float tanh_f32(float x)
{
    return fast_tanh(x);
}

TUTTI_HD double tanh_f64(double x)
{
    return tanh(x);
}

/* dy (1 - y^2), from the output y. */
TUTTI_HD float tanh_grad_f32(float dy, float y)
{
    return dy * (1.0f - y * y);
}

TUTTI_HD double tanh_grad_f64(double dy, double y)
{
    return dy * (1.0 - y * y);
}

#endif
