/* nadam_range.c - the update of a range of parameters. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "nadam_range.h"

ELEMENTWISE_DEFINE(nadam);
