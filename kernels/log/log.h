/* log.h - the natural logarithm. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_LOG_H
#define KERNELS_LOG_H

#include "common/fastmath.h"

TUTTI_HD float log_f32(float x)
{
    return fast_log(x);
}

TUTTI_HD double log_f64(double x)
{
    return log(x);
}

#endif
