/* lars_step.h - one element's step, once, for every device. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LARS_STEP_H
#define LARS_STEP_H

#include "../trust_step.h"

#include <stdint.h>

/* Settings, by their places. */
enum { LARS_MOMENTUM, LARS_DAMPENING, LARS_WEIGHT_DECAY, LARS_TRUST_COEFF, LARS_EPS };

/* A flag of its own. */
enum { LARS_NESTEROV = TRUST_OWN_FLAGS };

/* Kinds. */
enum { LARS_WITH_MOMENTUM, LARS_PLAIN };

/* Coefficients of one update; a gradient is g times factor. */
typedef struct lars_step {
    float couple; /* weight_decay, in the gradient */
    float keep;   /* of the buffer */
    float take;   /* of the gradient, in the buffer */
    float direct; /* of the gradient, in the step */
    float follow; /* of the buffer, in the step */
    float lr;
    float factor;
    int32_t adapts;
    double decay;
    double coeff;
    double eps;
    double rate; /* not 0: the ratio is divided by it and is at most 1 */
} lars_step;

/* The first step fills the buffer whole, whatever the dampening. */
TUTTI_SHARED lars_step lars_at(const double *s, int32_t flags, int32_t kind, double lr,
                               double step, double factor, double norm)
{
    const int looks_ahead = (flags & LARS_NESTEROV) != 0;
    lars_step k;
    k.couple = (float)s[LARS_WEIGHT_DECAY];
    k.keep = step <= 1.0 ? 0.0f : (float)s[LARS_MOMENTUM];
    k.take = step <= 1.0 ? 1.0f : (float)(1.0 - s[LARS_DAMPENING]);
    k.direct = looks_ahead ? 1.0f : 0.0f;
    k.follow = looks_ahead ? (float)s[LARS_MOMENTUM] : 1.0f;
    k.lr = (float)lr;
    k.factor = (float)factor;
    k.adapts = s[LARS_WEIGHT_DECAY] != 0.0 || (flags & TRUST_ALWAYS) != 0;
    k.decay = s[LARS_WEIGHT_DECAY];
    k.coeff = s[LARS_TRUST_COEFF];
    k.eps = s[LARS_EPS];
    k.rate = flags & TRUST_CLIP ? lr : 0.0;
    return k;
}

TUTTI_SHARED trust_pair lars_look(float w, float g, float *buf, float *unused, lars_step k,
                                  int32_t kind)
{
    trust_pair x;
    x.w = w;
    x.step = k.factor * g;
    return x;
}

TUTTI_SHARED float lars_ratio(lars_step k, double of_w, double of_step)
{
    double ratio = 1.0;
    if (!k.adapts)
        return 1.0f;
    if (of_w > 0.0 && of_step > 0.0)
        ratio = k.coeff * of_w / (of_step + of_w * k.decay + k.eps);
    if (k.rate != 0.0)
        ratio = ratio < k.rate ? ratio / k.rate : 1.0;
    return (float)ratio;
}

TUTTI_SHARED float lars_move(float w, float g, float *buf, float *unused, lars_step k,
                             float ratio, int32_t kind)
{
    const float d = ratio * (k.factor * g + k.couple * w);
    if (kind == LARS_PLAIN)
        return w - k.lr * d;
    *buf = k.keep * *buf + k.take * d;
    return w - k.lr * (k.direct * d + k.follow * *buf);
}

#endif
