/* lion_range.h - the update of a range of parameters, once per instruction set. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LION_RANGE_H
#define LION_RANGE_H

#include "lion_step.h"

#include "../elementwise_range.h"

ELEMENTWISE_DECLARE(lion);

#endif
