/* event_number.c - numbers of the built-in events by name. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin/plugin.h"

#include <strings.h>

int32_t event_number(const char *name)
{
    static const struct {
        const char *name;
        int32_t number;
    } events[] = {
#define TUTTI_X(constant, value, canonical, side) {value, TUTTI_EVENT_##constant},
        TUTTI_COMPOSER_EVENTS(TUTTI_X)
#undef TUTTI_X
#define TUTTI_X(constant, value, code) {value, TUTTI_EVENT_##constant},
            TUTTI_IGNITE_EVENTS(TUTTI_X)
#undef TUTTI_X
    };
    for (size_t k = 0; k < sizeof events / sizeof *events; k++)
        if (strcasecmp(events[k].name, name) == 0)
            return events[k].number;
    return -1;
}
