/* lamb_range.h - the update of a weight, piece by piece, once per instruction set. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LAMB_RANGE_H
#define LAMB_RANGE_H

#include "lamb_step.h"

#include "../trust_range.h"

TRUST_DECLARE(lamb);

#endif
