/* counts.h - how many dtypes, units and events this host knows; plugins must not bake that in. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_BASE_COUNTS_H
#define HOST_BASE_COUNTS_H

#include "tutti/events.h"
#include "tutti/tensor.h"
#include "tutti/time.h"

/* One past the last of each. */
enum {
#define TUTTI_X(...) +1
    DTYPE_END = TUTTI_DTYPE_NONE + 1 TUTTI_DTYPES(TUTTI_X),
    UNIT_END = TUTTI_UNIT_NONE + 1 TUTTI_TIME_UNITS(TUTTI_X),
    COMPOSER_EVENT_END = 0 TUTTI_COMPOSER_EVENTS(TUTTI_X),
    IGNITE_EVENT_END = TUTTI_IGNITE_FIRST TUTTI_IGNITE_EVENTS(TUTTI_X)
#undef TUTTI_X
};

#endif
