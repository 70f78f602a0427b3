/* radam_range.h - the update of a range of parameters, once per instruction set. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RADAM_RANGE_H
#define RADAM_RANGE_H

#include "radam_step.h"

#include "../elementwise_range.h"

ELEMENTWISE_DECLARE(radam);

#endif
