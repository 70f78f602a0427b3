/* lamb_range.c - the update of a weight. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "lamb_range.h"

TRUST_DEFINE(lamb);
