/* adam_step.h - one element of Adam's step, once, for every device. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ADAM_STEP_H
#define ADAM_STEP_H

#include "tutti/cuda_code.h"
#include "tutti/half.h"
#include "tutti/optimizer.h"

#include <math.h>

/* What weight_decay does. */
enum {
    ADAM_DECAY_BY_RATE, /* adamw: shrinks the weight, times the learning rate */
    ADAM_DECAY_BY_SCHEDULE, /* decoupled_adamw: shrinks the weight, scaled as the learning rate is */
    ADAM_DECAY_IN_GRADIENT /* adam: times the weight, added to the gradient */
};

typedef struct adam_rule {
    double beta1;
    double beta2;
    double eps;
    double weight_decay;
    double lr_initial; /* 0: a decay by schedule is not scaled */
    int32_t decay;     /* ADAM_DECAY_* */
    int32_t reserved;
} adam_rule;

/* One step's coefficients; the gradient is g * factor + couple * w:
 *   m = beta1 * m + (1 - beta1) * g
 *   v = beta2 * v + (1 - beta2) * g * g
 *   w = shrink * w - rate * m / (sqrt(v) * correct + eps) */
typedef struct adam_step {
    float beta1;
    float beta2;
    float rest1; /* 1 - beta1 */
    float rest2; /* 1 - beta2 */
    float shrink;
    float rate;    /* lr / (1 - beta1 ^ t) */
    float correct; /* 1 / sqrt(1 - beta2 ^ t) */
    float eps;
    float factor;
    float couple;
} adam_step;

TUTTI_SHARED adam_step adam_at(adam_rule r, double lr, double step, double factor)
{
    const double t = step < 1.0 ? 1.0 : step;
    const double scheduled = r.lr_initial != 0.0 ? lr / r.lr_initial : 1.0;
    const double scale = r.decay == ADAM_DECAY_BY_RATE       ? lr
                         : r.decay == ADAM_DECAY_BY_SCHEDULE ? scheduled
                                                             : 0.0;
    adam_step k;
    k.beta1 = (float)r.beta1;
    k.beta2 = (float)r.beta2;
    k.rest1 = (float)(1.0 - r.beta1);
    k.rest2 = (float)(1.0 - r.beta2);
    k.shrink = (float)(1.0 - scale * r.weight_decay);
    k.rate = (float)(lr / (1.0 - pow(r.beta1, t)));
    k.correct = (float)(1.0 / sqrt(1.0 - pow(r.beta2, t)));
    k.eps = (float)r.eps;
    k.factor = (float)factor;
    k.couple = r.decay == ADAM_DECAY_IN_GRADIENT ? (float)r.weight_decay : 0.0f;
    return k;
}

TUTTI_SHARED adam_step adam_now(adam_rule r, const double *now)
{
    return adam_at(r, now[TUTTI_UPDATE_LR], now[TUTTI_UPDATE_STEP], now[TUTTI_UPDATE_FACTOR]);
}

TUTTI_SHARED void adam_average(float w, float *m, float *v, float gradient, adam_step k)
{
    const float g = k.factor * gradient + k.couple * w;
    *m = k.beta1 * *m + k.rest1 * g;
    *v = k.beta2 * *v + k.rest2 * (g * g);
}

TUTTI_SHARED float adam_move(float w, float m, float v, adam_step k)
{
    return k.shrink * w - k.rate * m / (sqrtf(v) * k.correct + k.eps);
}

#endif
