/* adadelta_step.h - one element's step, once, for every device. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ADADELTA_STEP_H
#define ADADELTA_STEP_H

#include "tutti/cuda_code.h"

#include <math.h>
#include <stdint.h>

/* Settings, by their places. */
enum { ADADELTA_RHO, ADADELTA_EPS, ADADELTA_WEIGHT_DECAY };

enum { adadelta_variants = 1 };

/* Coefficients of one update; a gradient is g times factor. */
typedef struct adadelta_step {
    float couple; /* weight_decay */
    float rho;
    float rest; /* 1 - rho */
    float eps;
    float lr;
    float factor;
} adadelta_step;

TUTTI_SHARED adadelta_step adadelta_at(const double *s, int32_t variant, double lr, double step,
                                       double factor)
{
    adadelta_step k;
    k.couple = (float)s[ADADELTA_WEIGHT_DECAY];
    k.rho = (float)s[ADADELTA_RHO];
    k.rest = (float)(1.0 - s[ADADELTA_RHO]);
    k.eps = (float)s[ADADELTA_EPS];
    k.lr = (float)lr;
    k.factor = (float)factor;
    return k;
}

TUTTI_SHARED float adadelta_move(float w, float g, float *v, float *u, float *unused,
                                 adadelta_step k, int32_t variant)
{
    const float d = k.factor * g + k.couple * w;
    *v = k.rho * *v + k.rest * (d * d);
    const float step = sqrtf(*u + k.eps) / sqrtf(*v + k.eps) * d;
    *u = k.rho * *u + k.rest * (step * step);
    return w - k.lr * step;
}

#endif
