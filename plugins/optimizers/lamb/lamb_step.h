/* lamb_step.h - one element's step, once, for every device. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LAMB_STEP_H
#define LAMB_STEP_H

#include "../trust_step.h"

#include <stdint.h>

/* Settings, by their places. */
enum { LAMB_BETA1, LAMB_BETA2, LAMB_EPS, LAMB_WEIGHT_DECAY, LAMB_MAX_GRAD_NORM };

/* Flags of its own. */
enum {
    LAMB_BIAS_CORRECTION = TRUST_OWN_FLAGS,
    LAMB_GRAD_AVERAGING = 2 * TRUST_OWN_FLAGS,
    LAMB_DECOUPLED_DECAY = 4 * TRUST_OWN_FLAGS
};

/* Coefficients of one update; a gradient is g times factor. */
typedef struct lamb_step {
    float beta1;
    float beta2;
    float take1;   /* of the gradient, in its average: 1 - beta1, or 1 */
    float rest2;   /* 1 - beta2 */
    float scale;   /* 1 / (1 - beta1 ^ t) */
    float correct; /* 1 / sqrt(1 - beta2 ^ t) */
    float eps;
    float couple; /* weight_decay, in the step */
    float shrink; /* of the weight, before all else */
    float lr;
    float factor;
    int32_t adapts;
    int32_t clips;
} lamb_step;

TUTTI_SHARED lamb_step lamb_at(const double *s, int32_t flags, int32_t kind, double lr,
                               double step, double factor, double norm)
{
    const double t = step < 1.0 ? 1.0 : step, decay = s[LAMB_WEIGHT_DECAY];
    const int corrects = (flags & LAMB_BIAS_CORRECTION) != 0;
    const int decoupled = (flags & LAMB_DECOUPLED_DECAY) != 0;
    lamb_step k;
    k.beta1 = (float)s[LAMB_BETA1];
    k.beta2 = (float)s[LAMB_BETA2];
    k.take1 = flags & LAMB_GRAD_AVERAGING ? (float)(1.0 - s[LAMB_BETA1]) : 1.0f;
    k.rest2 = (float)(1.0 - s[LAMB_BETA2]);
    k.scale = corrects ? (float)(1.0 / (1.0 - pow(s[LAMB_BETA1], t))) : 1.0f;
    k.correct = corrects ? (float)(1.0 / sqrt(1.0 - pow(s[LAMB_BETA2], t))) : 1.0f;
    k.eps = (float)s[LAMB_EPS];
    k.couple = decoupled ? 0.0f : (float)decay;
    k.shrink = decoupled ? (float)(1.0 - lr * decay) : 1.0f;
    k.lr = (float)lr;
    k.factor = (float)(flags & TRUST_NORM && norm > s[LAMB_MAX_GRAD_NORM]
                           ? factor * (s[LAMB_MAX_GRAD_NORM] / norm)
                           : factor);
    k.adapts = decay != 0.0 || (flags & TRUST_ALWAYS) != 0;
    k.clips = (flags & TRUST_CLIP) != 0;
    return k;
}

TUTTI_SHARED float lamb_direction(float w, float m, float v, lamb_step k)
{
    return k.scale * m / (sqrtf(v) * k.correct + k.eps) + k.couple * w;
}

TUTTI_SHARED trust_pair lamb_look(float w, float g, float *m, float *v, lamb_step k,
                                  int32_t kind)
{
    const float d = k.factor * g;
    trust_pair x;
    *m = k.beta1 * *m + k.take1 * d;
    *v = k.beta2 * *v + k.rest2 * (d * d);
    x.w = k.shrink * w;
    x.step = lamb_direction(x.w, *m, *v, k);
    return x;
}

TUTTI_SHARED float lamb_ratio(lamb_step k, double of_w, double of_step)
{
    const double ratio = of_w > 0.0 && of_step > 0.0 ? of_w / of_step : 1.0;
    return !k.adapts ? 1.0f : k.clips && ratio > 1.0 ? 1.0f : (float)ratio;
}

TUTTI_SHARED float lamb_move(float w, float g, const float *m, const float *v, lamb_step k,
                             float ratio, int32_t kind)
{
    const float x = k.shrink * w;
    return x - k.lr * (ratio * lamb_direction(x, *m, *v, k));
}

#endif
