/* silu.h - x sigmoid(x) (Elfwing et al. 2017). */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_SILU_H
#define KERNELS_SILU_H

#include "common/fastmath.h"

TUTTI_HD float silu_f32(float x)
{
    return x * fast_sigmoid(x);
}

TUTTI_HD double silu_f64(double x)
{
    return x / (1.0 + exp(-x));
}

/* dy s (1 + x (1 - s)), s = sigmoid(x). */
TUTTI_HD float silu_grad_f32(float dy, float x)
{
    const float s = fast_sigmoid(x);
    return dy * (s * (1.0f + x * (1.0f - s)));
}

TUTTI_HD double silu_grad_f64(double dy, double x)
{
    const double s = 1.0 / (1.0 + exp(-x));
    return dy * (s * (1.0 + x * (1.0 - s)));
}

#endif
