/* clip.h - one number clipped, once, for every device. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLIP_H
#define CLIP_H

#include "tutti/cuda_code.h"

#include <math.h>

TUTTI_SHARED float clip_value(float g, float limit) /* a NaN stays one */
{
    return g > limit ? limit : g < -limit ? -limit : g;
}

/* Brock et al. 2021: what a unit's gradient is multiplied by, where that is below 1. */
TUTTI_SHARED double clip_ratio(double weight_squares, double grad_squares, double threshold)
{
    return threshold * sqrt(weight_squares) / sqrt(grad_squares);
}

#endif
