/* lion_range.c - the update of a range of parameters. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "lion_range.h"

ELEMENTWISE_DEFINE(lion);
