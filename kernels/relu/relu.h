/* relu.h - max(x, 0); a NaN stays one. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_RELU_H
#define KERNELS_RELU_H

#include "tutti/rng.h" /* TUTTI_HD */

TUTTI_HD float relu_f32(float x)
{
    return x < 0.0f ? 0.0f : x;
}

TUTTI_HD double relu_f64(double x)
{
    return x < 0.0 ? 0.0 : x;
}

/* From dy and the output y. */
TUTTI_HD float relu_grad_f32(float dy, float y)
{
    return y > 0.0f ? dy : 0.0f;
}

TUTTI_HD double relu_grad_f64(double dy, double y)
{
    return y > 0.0 ? dy : 0.0;
}

#endif
