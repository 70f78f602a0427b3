/* exp.h - e to the power x. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_EXP_H
#define KERNELS_EXP_H

#include "common/fastmath.h"

TUTTI_HD float exp_f32(float x)
{
    return fast_exp(x);
}

TUTTI_HD double exp_f64(double x)
{
    return exp(x);
}

#endif
