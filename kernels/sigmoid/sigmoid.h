/* sigmoid.h - 1 / (1 + exp(-x)). */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_SIGMOID_H
#define KERNELS_SIGMOID_H

#include "common/fastmath.h"

TUTTI_HD float sigmoid_f32(float x)
{
    return fast_sigmoid(x);
}

TUTTI_HD double sigmoid_f64(double x)
{
    return 1.0 / (1.0 + exp(-x));
}

/* dy y (1 - y), from the output y. */
TUTTI_HD float sigmoid_grad_f32(float dy, float y)
{
    return dy * (y * (1.0f - y));
}

TUTTI_HD double sigmoid_grad_f64(double dy, double y)
{
    return dy * (y * (1.0 - y));
}

#endif
