/* adagrad_range.h - the update of a range of parameters, once per instruction set. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ADAGRAD_RANGE_H
#define ADAGRAD_RANGE_H

#include "adagrad_step.h"

#include "../elementwise_range.h"

ELEMENTWISE_DECLARE(adagrad);

#endif
