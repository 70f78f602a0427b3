/* rmsprop_range.h - the update of a range of parameters, once per instruction set. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RMSPROP_RANGE_H
#define RMSPROP_RANGE_H

#include "rmsprop_step.h"

#include "../elementwise_range.h"

ELEMENTWISE_DECLARE(rmsprop);

#endif
