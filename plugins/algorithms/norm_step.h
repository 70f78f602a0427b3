/* norm_step.h - a number divided by a norm, once, for every device. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_NORM_STEP_H
#define PLUGIN_NORM_STEP_H

#include "tutti/cuda_code.h"

#include <math.h>

/* At most `most`; NaN stays. */
TUTTI_SHARED float norm_quotient(double sum_of_squares, double number, double epsilon,
                                 double most)
{
    const double q = number / (sqrt(sum_of_squares) + epsilon);
    return (float)(q >= most ? most : q);
}

#endif
