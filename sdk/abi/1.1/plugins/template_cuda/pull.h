/* pull.h - what becomes of one weight, once, for every device. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIGHT_PULL_H
#define WEIGHT_PULL_H

#include "tutti/cuda_code.h"

TUTTI_SHARED float pulled(float w, float rate)
{
    return w - rate * w;
}

#endif
