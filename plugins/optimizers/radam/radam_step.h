/* radam_step.h - one element's step, once, for every device. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RADAM_STEP_H
#define RADAM_STEP_H

#include "tutti/cuda_code.h"

#include <math.h>
#include <stdint.h>

/* Settings, by their places. */
enum { RADAM_BETA1, RADAM_BETA2, RADAM_EPS, RADAM_WEIGHT_DECAY };

enum { radam_variants = 1 }; /* decoupled_weight_decay, 1, is in the coefficients */

/* Coefficients of one update; a gradient is g times factor. */
typedef struct radam_step {
    float couple; /* weight_decay, in the gradient */
    float shrink; /* of the weight */
    float beta1;
    float beta2;
    float rest1;   /* 1 - beta1 */
    float rest2;   /* 1 - beta2 */
    float plain;   /* of the average alone: lr / (1 - beta1 ^ t), or 0 */
    float adapted; /* of the average over its deviation, or 0 */
    float eps;
    float factor;
} radam_step;

TUTTI_SHARED radam_step radam_at(const double *s, int32_t variant, double lr, double step,
                                 double factor)
{
    const double t = step < 1.0 ? 1.0 : step;
    const double beta2 = s[RADAM_BETA2], power = pow(beta2, t);
    const double most = 2.0 / (1.0 - beta2) - 1.0;
    const double length =
        most - 2.0 * t * power / (1.0 - power); /* of the average that is known so far */
    const double rate = lr / (1.0 - pow(s[RADAM_BETA1], t));
    const double rectified = length > 5.0
                                 ? sqrt((length - 4.0) * (length - 2.0) * most /
                                        ((most - 4.0) * (most - 2.0) * length) * (1.0 - power))
                                 : 0.0;
    radam_step k;
    k.couple = variant ? 0.0f : (float)s[RADAM_WEIGHT_DECAY];
    k.shrink = variant ? (float)(1.0 - lr * s[RADAM_WEIGHT_DECAY]) : 1.0f;
    k.beta1 = (float)s[RADAM_BETA1];
    k.beta2 = (float)beta2;
    k.rest1 = (float)(1.0 - s[RADAM_BETA1]);
    k.rest2 = (float)(1.0 - beta2);
    k.plain = length > 5.0 ? 0.0f : (float)rate;
    k.adapted = (float)(rate * rectified);
    k.eps = (float)s[RADAM_EPS];
    k.factor = (float)factor;
    return k;
}

TUTTI_SHARED float radam_move(float w, float g, float *m, float *v, float *unused, radam_step k,
                              int32_t variant)
{
    const float d = k.factor * g + k.couple * w;
    *m = k.beta1 * *m + k.rest1 * d;
    *v = k.beta2 * *v + k.rest2 * (d * d);
    return k.shrink * w - *m * (k.plain + k.adapted / (sqrtf(*v) + k.eps));
}

#endif
