/* momentum_step.h - one element of gradient descent with momentum, once, for every device. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MOMENTUM_STEP_H
#define MOMENTUM_STEP_H

#include "tutti/cuda_code.h"
#include "tutti/half.h"
#include "tutti/optimizer.h"

/* The settings of sgd (decay goes into the gradient) and decoupled_sgdw (it goes onto the weight,
 * scaled as the learning rate is). */
typedef struct momentum_rule {
    double momentum;
    double dampening;
    double weight_decay;
    double lr_initial; /* 0: the decay is not scaled */
    int32_t nesterov;
    int32_t decoupled;
} momentum_rule;

/* One step's coefficients:
 *   d   = factor * g + couple * w
 *   buf = keep * buf + take * d
 *   w   = shrink * w - lr * (direct * d + follow * buf) */
typedef struct momentum_step {
    float couple;
    float keep;
    float take;
    float direct;
    float follow;
    float shrink;
    float lr;
    float factor;
} momentum_step;

/* The first step fills the buffer whole, whatever the dampening. */
TUTTI_SHARED momentum_step momentum_at(momentum_rule r, double lr, double step, double factor)
{
    const double scale = r.lr_initial != 0.0 ? lr / r.lr_initial : 1.0;
    momentum_step k;
    k.couple = r.decoupled ? 0.0f : (float)r.weight_decay;
    k.keep = step <= 1.0 ? 0.0f : (float)r.momentum;
    k.take = step <= 1.0 ? 1.0f : (float)(1.0 - r.dampening);
    k.direct = r.nesterov ? 1.0f : 0.0f;
    k.follow = r.nesterov ? (float)r.momentum : 1.0f;
    k.shrink = r.decoupled ? (float)(1.0 - scale * r.weight_decay) : 1.0f;
    k.lr = (float)lr;
    k.factor = (float)factor;
    return k;
}

TUTTI_SHARED momentum_step momentum_now(momentum_rule r, const double *now)
{
    return momentum_at(r, now[TUTTI_UPDATE_LR], now[TUTTI_UPDATE_STEP],
                       now[TUTTI_UPDATE_FACTOR]);
}

TUTTI_SHARED float momentum_move(float w, float g, float *buf, momentum_step k)
{
    const float d = k.factor * g + k.couple * w;
    const float b = k.keep * *buf + k.take * d;
    *buf = b;
    return k.shrink * w - k.lr * (k.direct * d + k.follow * b);
}

TUTTI_SHARED float plain_move(float w, float g, momentum_step k)
{
    return k.shrink * w - k.lr * (k.factor * g + k.couple * w);
}

#endif
