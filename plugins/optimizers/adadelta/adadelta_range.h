/* adadelta_range.h - the update of a range of parameters, once per instruction set. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ADADELTA_RANGE_H
#define ADADELTA_RANGE_H

#include "adadelta_step.h"

#include "../elementwise_range.h"

ELEMENTWISE_DECLARE(adadelta);

#endif
