/* lars_range.h - the update of a weight, piece by piece, once per instruction set. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LARS_RANGE_H
#define LARS_RANGE_H

#include "lars_step.h"

#include "../trust_range.h"

TRUST_DECLARE(lars);

#endif
