/* numbers.h - targets that are numbers, of any dtype that data sets have. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef METRIC_NUMBERS_H
#define METRIC_NUMBERS_H

#include "tutti/tensor.h"

#include <math.h>

/* Number `k` of a tensor in the host's memory; NaN for a dtype that has none. */
static inline double metric_number(const tutti_tensor *t, int64_t k)
{
    switch (t->desc.dtype) {
    case TUTTI_F32:
        return (double)((const float *)t->data)[k];
    case TUTTI_F64:
        return ((const double *)t->data)[k];
    case TUTTI_I32:
        return (double)((const int32_t *)t->data)[k];
    case TUTTI_I64:
        return (double)((const int64_t *)t->data)[k];
    case TUTTI_U8:
    case TUTTI_BOOL:
        return (double)((const uint8_t *)t->data)[k];
    default:
        return (double)NAN;
    }
}

static inline int metric_is_number(int32_t dtype)
{
    return dtype == TUTTI_F32 || dtype == TUTTI_F64 || dtype == TUTTI_I32 ||
           dtype == TUTTI_I64 || dtype == TUTTI_U8 || dtype == TUTTI_BOOL;
}

static inline int metric_is_index(int32_t dtype)
{
    return dtype == TUTTI_I32 || dtype == TUTTI_I64;
}

#endif
