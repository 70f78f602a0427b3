/* gelu.h - the Gaussian error linear unit (Hendrycks and Gimpel 2016). */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_GELU_H
#define KERNELS_GELU_H

#include "common/fastmath.h"

/* approximate 0: x Phi(x); 1: the tanh form. */
typedef struct gelu_attr {
    int64_t approximate;
} gelu_attr;

#define GELU_C 0.79788456080286536 /* sqrt(2 / pi) */
#define GELU_K 0.044715
#define GELU_R 0.70710678118654752 /* sqrt(1 / 2) */
#define GELU_P 0.39894228040143268 /* 1 / sqrt(2 pi) */

TUTTI_HD float gelu_f32(float x, const gelu_attr *a)
{
    if (a->approximate) { /* (1 + tanh(u)) / 2 = sigmoid(2 u) */
        const float u = (float)GELU_C * (x + (float)GELU_K * x * x * x);
        return x * fast_sigmoid(2.0f * u);
    }
    return 0.5f * x * (1.0f + fast_erf(x * (float)GELU_R));
}

TUTTI_HD double gelu_f64(double x, const gelu_attr *a)
{
    const double u = GELU_C * (x + GELU_K * x * x * x);
    return 0.5 * x * (1.0 + (a->approximate ? tanh(u) : erf(x * GELU_R)));
}

/* erf: Phi(x) + x phi(x).  tanh: (1 + t) / 2 + x / 2 (1 - t^2) u', u' = c (1 + 3 k x^2). */
TUTTI_HD float gelu_grad_f32(float dy, float x, const gelu_attr *a)
{
    if (a->approximate) {
        const float x2 = x * x, u = (float)GELU_C * x * (1.0f + (float)GELU_K * x2);
        const float s = fast_sigmoid(2.0f * u); /* (1 + t) / 2; (1 - t^2) / 2 = 2 s (1 - s) */
        const float du = (float)GELU_C * (1.0f + 3.0f * (float)GELU_K * x2);
        return dy * (s + 2.0f * x * s * (1.0f - s) * du);
    }
    return dy * (0.5f * (1.0f + fast_erf(x * (float)GELU_R)) +
                 x * (float)GELU_P * fast_exp(-0.5f * x * x));
}

TUTTI_HD double gelu_grad_f64(double dy, double x, const gelu_attr *a)
{
    if (a->approximate) {
        const double x2 = x * x, t = tanh(GELU_C * x * (1.0 + GELU_K * x2));
        const double du = GELU_C * (1.0 + 3.0 * GELU_K * x2);
        return dy * (0.5 * (1.0 + t) + 0.5 * x * (1.0 - t * t) * du);
    }
    return dy * (0.5 * (1.0 + erf(x * GELU_R)) + x * GELU_P * exp(-0.5 * x * x));
}

#endif
