/* weight_average_step.h - one number of an average of weights, once, for every device. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_WEIGHT_AVERAGE_STEP_H
#define PLUGIN_WEIGHT_AVERAGE_STEP_H

#include "tutti/cuda_code.h"

TUTTI_SHARED float average_blended(float value, float weight, float keep, float take)
{
    return keep * value + take * weight;
}

TUTTI_SHARED float average_nearer(float value, float weight, float take)
{
    return value + take * (weight - value);
}

#endif
