/* order.h - the order of losses, once, for every device. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SELECTIVE_BACKPROP_ORDER_H
#define SELECTIVE_BACKPROP_ORDER_H

#include "tutti/cuda_code.h"

/* Whether loss a of sample i comes before loss b of sample j: ascending, equal ones in the order of the
 * samples, a NaN after all numbers. */
TUTTI_SHARED int order_before(float a, int64_t i, float b, int64_t j)
{
    const int no_number = a != a;
    if (no_number != (b != b))
        return !no_number;
    if (a < b || a > b)
        return a < b;
    return i < j;
}

#endif
