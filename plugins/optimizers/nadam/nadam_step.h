/* nadam_step.h - one element's step, once, for every device. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NADAM_STEP_H
#define NADAM_STEP_H

#include "tutti/cuda_code.h"

#include <math.h>
#include <stdint.h>

/* Settings, by their places. */
enum { NADAM_BETA1, NADAM_BETA2, NADAM_EPS, NADAM_WEIGHT_DECAY, NADAM_MOMENTUM_DECAY };

enum { nadam_variants = 1 }; /* decoupled_weight_decay, 1, is in the coefficients */

/* Coefficients of one update; a gradient is g times factor. */
typedef struct nadam_step {
    float couple; /* weight_decay, in the gradient */
    float shrink; /* of the weight */
    float beta1;
    float beta2;
    float rest1;   /* 1 - beta1 */
    float rest2;   /* 1 - beta2 */
    float direct;  /* lr * (1 - mu(t)) / (1 - M(t)), of the gradient */
    float follow;  /* lr * mu(t+1) / (1 - M(t+1)), of its average */
    float correct; /* 1 / sqrt(1 - beta2 ^ t) */
    float eps;
    float factor;
} nadam_step;

/* The product of mu(1) to mu(t), and mu(t + 1).  It falls below what f64 sees beside 1 after some hundred factors,
 * or these are all beta1. */
TUTTI_SHARED double nadam_product(double beta1, double momentum_decay, double t,
                                  double *ret_next)
{
    const double q = pow(0.96, momentum_decay);
    const int64_t steps = (int64_t)t;
    double product = 1.0, power = q;
    int64_t k = 1;
    for (; k <= steps && product > 1e-20 && power > 1e-20; k++) {
        product *= beta1 * (1.0 - 0.5 * power);
        power *= q;
    }
    if (k <= steps)
        product *= pow(beta1, (double)(steps - k + 1));
    *ret_next = beta1 * (1.0 - 0.5 * pow(q, t + 1.0));
    return product;
}

TUTTI_SHARED nadam_step nadam_at(const double *s, int32_t variant, double lr, double step,
                                 double factor)
{
    const double t = step < 1.0 ? 1.0 : step;
    const double beta1 = s[NADAM_BETA1], decay = s[NADAM_MOMENTUM_DECAY];
    double next = 0.0;
    const double product = nadam_product(beta1, decay, t, &next);
    const double mu = beta1 * (1.0 - 0.5 * pow(0.96, t * decay));
    nadam_step k;
    k.couple = variant ? 0.0f : (float)s[NADAM_WEIGHT_DECAY];
    k.shrink = variant ? (float)(1.0 - lr * s[NADAM_WEIGHT_DECAY]) : 1.0f;
    k.beta1 = (float)beta1;
    k.beta2 = (float)s[NADAM_BETA2];
    k.rest1 = (float)(1.0 - beta1);
    k.rest2 = (float)(1.0 - s[NADAM_BETA2]);
    k.direct = (float)(lr * (1.0 - mu) / (1.0 - product));
    k.follow = (float)(lr * next / (1.0 - product * next));
    k.correct = (float)(1.0 / sqrt(1.0 - pow(s[NADAM_BETA2], t)));
    k.eps = (float)s[NADAM_EPS];
    k.factor = (float)factor;
    return k;
}

TUTTI_SHARED float nadam_move(float w, float g, float *m, float *v, float *unused, nadam_step k,
                              int32_t variant)
{
    const float d = k.factor * g + k.couple * w;
    *m = k.beta1 * *m + k.rest1 * d;
    *v = k.beta2 * *v + k.rest2 * (d * d);
    return k.shrink * w - (k.direct * d + k.follow * *m) / (sqrtf(*v) * k.correct + k.eps);
}

#endif
