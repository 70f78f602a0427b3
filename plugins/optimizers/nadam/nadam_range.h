/* nadam_range.h - the update of a range of parameters, once per instruction set. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NADAM_RANGE_H
#define NADAM_RANGE_H

#include "nadam_step.h"

#include "../elementwise_range.h"

ELEMENTWISE_DECLARE(nadam);

#endif
