/* momentum_step.h - one element of gradient descent with momentum, once, for every device. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MOMENTUM_STEP_H
#define MOMENTUM_STEP_H

#include "tutti/cuda_code.h"

/* One step's coefficients:
 *   d   = g + couple * w
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
} momentum_step;

TUTTI_SHARED float momentum_move(float w, float g, float *buf, momentum_step k)
{
    const float d = g + k.couple * w;
    const float b = k.keep * *buf + k.take * d;
    *buf = b;
    return k.shrink * w - k.lr * (k.direct * d + k.follow * b);
}

TUTTI_SHARED float plain_move(float w, float g, momentum_step k)
{
    return k.shrink * w - k.lr * (g + k.couple * w);
}

#endif
