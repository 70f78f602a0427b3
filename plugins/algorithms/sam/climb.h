/* climb.h - one weight of sam's step up, once, for every device. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLIMB_H
#define CLIMB_H

#include "tutti/cuda_code.h"

TUTTI_SHARED float climb_weight(float w, float g, float scale)
{
    return w + scale * g;
}

#endif
