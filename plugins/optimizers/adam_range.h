/* adam_range.h - the update of a range of parameters, once per instruction set. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ADAM_RANGE_H
#define ADAM_RANGE_H

#include "adam_step.h"
#include "tutti/isa.h"

/* Updates n weights; `most` for AMSGrad, `low` where there is a copy in 16 bits. */
void adam_range(int64_t n, float *w, const float *g, float *m, float *v, float *most,
                uint16_t *low, int32_t dtype, const adam_step *c);
TUTTI_ISA_VARIANTS(adam_range);

#endif
