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

/* Phi(x) = 1 - h, or h below 0, where h = erfc(t) / 2 = e R(t), t = |x| / sqrt(2), e = exp(-t^2), which
 * the gradient wants too.  R is a minimax fit up to 4, where h ends for f32: errors of h are 4.4e-8. */
FAST_HD float gelu_phi(float x, float *ret_e)
{
    const float t = fabsf(x) * (float)GELU_R, u = t > 4.0f ? 4.0f : t;
    const float e = fast_exp_down(-0.5f * x * x);
    float p = -7.711730713e-06f;
    p = p * u + 1.542086424e-04f;
    p = p * u - 1.368769342e-03f;
    p = p * u + 7.216921067e-03f;
    p = p * u - 2.572195252e-02f;
    p = p * u + 6.756576740e-02f;
    p = p * u - 1.406010706e-01f;
    p = p * u + 2.460361684e-01f;
    p = p * u - 3.751817102e-01f;
    p = p * u + 4.998840054e-01f;
    p = p * u - 5.641840325e-01f;
    p = p * u + 4.999999561e-01f;
    const float h = e * p;
    *ret_e = e;
    return x < 0.0f ? h : 1.0f - h;
}

FAST_HD float gelu_f32(float x, const gelu_attr *a)
{
    if (a->approximate) { /* (1 + tanh(u)) / 2 = sigmoid(2 u) */
        const float u = (float)GELU_C * (x + (float)GELU_K * x * x * x);
        return x * fast_sigmoid(2.0f * u);
    }
    float e;
    return x * gelu_phi(x, &e);
}

TUTTI_HD double gelu_f64(double x, const gelu_attr *a)
{
    const double u = GELU_C * (x + GELU_K * x * x * x);
    return 0.5 * x * (1.0 + (a->approximate ? tanh(u) : erf(x * GELU_R)));
}

/* erf: Phi(x) + x phi(x).  tanh: (1 + t) / 2 + x / 2 (1 - t^2) u', u' = c (1 + 3 k x^2). */
FAST_HD float gelu_grad_f32(float dy, float x, const gelu_attr *a)
{
    if (a->approximate) {
        const float x2 = x * x, u = (float)GELU_C * x * (1.0f + (float)GELU_K * x2);
        const float s = fast_sigmoid(2.0f * u); /* (1 + t) / 2; (1 - t^2) / 2 = 2 s (1 - s) */
        const float du = (float)GELU_C * (1.0f + 3.0f * (float)GELU_K * x2);
        return dy * (s + 2.0f * x * s * (1.0f - s) * du);
    }
    float e;
    const float phi = gelu_phi(x, &e);
    return dy * (phi + x * (float)GELU_P * e);
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
