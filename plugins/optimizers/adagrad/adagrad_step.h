/* adagrad_step.h - one element's step, once, for every device. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ADAGRAD_STEP_H
#define ADAGRAD_STEP_H

#include "tutti/cuda_code.h"

#include <math.h>
#include <stdint.h>

/* Settings, by their places. */
enum { ADAGRAD_LR_DECAY, ADAGRAD_WEIGHT_DECAY, ADAGRAD_INITIAL, ADAGRAD_EPS };

enum { adagrad_variants = 1 };

/* Coefficients of one update; a gradient is g times factor. */
typedef struct adagrad_step {
    float couple;  /* weight_decay */
    float initial; /* added to the sum: not 0 in the first step alone */
    float rate;
    float eps;
    float factor;
} adagrad_step;

TUTTI_SHARED adagrad_step adagrad_at(const double *s, int32_t variant, double lr, double step,
                                     double factor)
{
    const double t = step < 1.0 ? 1.0 : step;
    adagrad_step k;
    k.couple = (float)s[ADAGRAD_WEIGHT_DECAY];
    k.initial = t == 1.0 ? (float)s[ADAGRAD_INITIAL] : 0.0f;
    k.rate = (float)(lr / (1.0 + (t - 1.0) * s[ADAGRAD_LR_DECAY]));
    k.eps = (float)s[ADAGRAD_EPS];
    k.factor = (float)factor;
    return k;
}

TUTTI_SHARED float adagrad_move(float w, float g, float *sum, float *unused, float *unused2,
                                adagrad_step k, int32_t variant)
{
    const float d = k.factor * g + k.couple * w;
    *sum = *sum + k.initial + d * d;
    return w - k.rate * d / (sqrtf(*sum) + k.eps);
}

#endif
