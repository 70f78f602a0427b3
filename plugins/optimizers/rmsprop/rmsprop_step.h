/* rmsprop_step.h - one element's step, once, for every device. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RMSPROP_STEP_H
#define RMSPROP_STEP_H

#include "tutti/cuda_code.h"

#include <math.h>
#include <stdint.h>

/* Settings, by their places. */
enum { RMSPROP_ALPHA, RMSPROP_EPS, RMSPROP_WEIGHT_DECAY, RMSPROP_MOMENTUM };

enum { rmsprop_variants = 4 }; /* 1: momentum, 2: centered, 3: both */

/* Coefficients of one update; a gradient is g times factor. */
typedef struct rmsprop_step {
    float couple; /* weight_decay */
    float alpha;
    float rest; /* 1 - alpha */
    float eps;
    float keep; /* momentum */
    float lr;
    float factor;
} rmsprop_step;

TUTTI_SHARED rmsprop_step rmsprop_at(const double *s, int32_t variant, double lr, double step,
                                     double factor)
{
    rmsprop_step k;
    k.couple = (float)s[RMSPROP_WEIGHT_DECAY];
    k.alpha = (float)s[RMSPROP_ALPHA];
    k.rest = (float)(1.0 - s[RMSPROP_ALPHA]);
    k.eps = (float)s[RMSPROP_EPS];
    k.keep = (float)s[RMSPROP_MOMENTUM];
    k.lr = (float)lr;
    k.factor = (float)factor;
    return k;
}

TUTTI_SHARED float rmsprop_move(float w, float g, float *v, float *b, float *m, rmsprop_step k,
                                int32_t variant)
{
    const float d = k.factor * g + k.couple * w;
    float variance = k.alpha * *v + k.rest * (d * d);
    *v = variance;
    if (variant & 2) {
        *m = k.alpha * *m + k.rest * d;
        variance -= *m * *m;
        variance = variance > 0.0f ? variance : 0.0f; /* rounding */
    }
    float step = d / (sqrtf(variance) + k.eps);
    if (variant & 1) {
        step += k.keep * *b;
        *b = step;
    }
    return w - k.lr * step;
}

#endif
