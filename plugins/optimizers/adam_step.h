/* adam_step.h - one element of Adam's step, once, for every device. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ADAM_STEP_H
#define ADAM_STEP_H

#include "tutti/cuda_code.h"

#include <math.h>

/* One step's coefficients:
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
} adam_step;

TUTTI_SHARED void adam_average(float *m, float *v, float g, adam_step k)
{
    *m = k.beta1 * *m + k.rest1 * g;
    *v = k.beta2 * *v + k.rest2 * (g * g);
}

TUTTI_SHARED float adam_move(float w, float m, float v, adam_step k)
{
    return k.shrink * w - k.rate * m / (sqrtf(v) * k.correct + k.eps);
}

#endif
