/* lion_step.h - one element's step, once, for every device. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LION_STEP_H
#define LION_STEP_H

#include "tutti/cuda_code.h"

#include <math.h>
#include <stdint.h>

/* Settings, by their places. */
enum { LION_BETA1, LION_BETA2, LION_WEIGHT_DECAY };

enum { lion_variants = 1 };

/* Coefficients of one update; a gradient is g times factor. */
typedef struct lion_step {
    float beta1;
    float beta2;
    float rest1; /* 1 - beta1 */
    float rest2; /* 1 - beta2 */
    float shrink;
    float lr;
    float factor;
} lion_step;

TUTTI_SHARED lion_step lion_at(const double *s, int32_t variant, double lr, double step,
                               double factor)
{
    lion_step k;
    k.beta1 = (float)s[LION_BETA1];
    k.beta2 = (float)s[LION_BETA2];
    k.rest1 = (float)(1.0 - s[LION_BETA1]);
    k.rest2 = (float)(1.0 - s[LION_BETA2]);
    k.shrink = (float)(1.0 - lr * s[LION_WEIGHT_DECAY]);
    k.lr = (float)lr;
    k.factor = (float)factor;
    return k;
}

TUTTI_SHARED float lion_move(float w, float g, float *m, float *unused, float *unused2,
                             lion_step k, int32_t variant)
{
    const float d = k.factor * g, c = k.beta1 * *m + k.rest1 * d;
    const float step = c > 0.0f ? k.lr : c < 0.0f ? -k.lr : 0.0f;
    *m = k.beta2 * *m + k.rest2 * d;
    return k.shrink * w - step;
}

#endif
