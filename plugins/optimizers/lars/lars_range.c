/* lars_range.c - the update of a weight. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "lars_range.h"

TRUST_DEFINE(lars);
