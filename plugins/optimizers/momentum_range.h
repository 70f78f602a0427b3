/* momentum_range.h - the update of a range of parameters, once per instruction set. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MOMENTUM_RANGE_H
#define MOMENTUM_RANGE_H

#include "momentum_step.h"
#include "tutti/isa.h"

/* Updates n weights; without `buf` there is no momentum, `low` is there where a copy in 16 bits is. */
void momentum_range(int64_t n, float *w, const float *g, float *buf, uint16_t *low,
                    int32_t dtype, const momentum_step *c);
TUTTI_ISA_VARIANTS(momentum_range);

#endif
