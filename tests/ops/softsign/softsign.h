/* softsign.h - the maths of softsign, x / (1 + |x|), and of its gradient, once, for every device. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOFTSIGN_H
#define SOFTSIGN_H

#include "tutti/cuda_code.h"

TUTTI_SHARED float softsign(float x)
{
    return x / (1.0f + (x < 0.0f ? -x : x));
}

TUTTI_SHARED float softsign_grad(float dy, float x)
{
    const float d = 1.0f + (x < 0.0f ? -x : x);
    return dy / (d * d);
}

#endif
