/* events.c - the events of both engines: names, sides, and the Composer event that is the counterpart of Ignite's. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/counts.h"
#include "engine/engine.h"

#include <strings.h>

typedef struct event_row {
    int32_t id;
    int side;
    const char *name;
    const char *canonical;
} event_row;

enum { B = -1, N = 0, A = 1 };

static const event_row rows[] = {
#define TUTTI_X(name, value, canonical, side) {TUTTI_EVENT_##name, side, value, canonical},
    TUTTI_COMPOSER_EVENTS(TUTTI_X)
#undef TUTTI_X
#define TUTTI_X(name, value, code) {TUTTI_EVENT_##name, N, value, value},
        TUTTI_IGNITE_EVENTS(TUTTI_X)
#undef TUTTI_X
};

enum { NROWS = sizeof rows / sizeof *rows };

/* The rows are in order of their ids, with one gap before Ignite's. */
static const event_row *find_row(int32_t event)
{
    if (event >= 0 && event < COMPOSER_EVENT_END)
        return &rows[event];
    if (event >= TUTTI_IGNITE_FIRST && event < IGNITE_EVENT_END)
        return &rows[COMPOSER_EVENT_END + event - TUTTI_IGNITE_FIRST];
    return NULL;
}

int32_t event_find(const char *name)
{
    for (size_t k = 0; name && k < NROWS; k++)
        if (strcasecmp(rows[k].name, name) == 0)
            return rows[k].id;
    return -1;
}

const char *event_name(int32_t event)
{
    const event_row *row = find_row(event);
    return row ? row->name : "custom";
}

const char *event_canonical(int32_t event)
{
    const event_row *row = find_row(event);
    return row ? row->canonical : "custom";
}

int event_side(int32_t event)
{
    const event_row *row = find_row(event);
    return row ? row->side : N;
}

int32_t event_counterpart(int32_t event)
{
    switch (event) {
    case TUTTI_EVENT_STARTED:
        return TUTTI_EVENT_FIT_START;
    case TUTTI_EVENT_EPOCH_STARTED:
        return TUTTI_EVENT_EPOCH_START;
    case TUTTI_EVENT_GET_BATCH_STARTED:
        return TUTTI_EVENT_BEFORE_DATALOADER;
    case TUTTI_EVENT_GET_BATCH_COMPLETED:
        return TUTTI_EVENT_AFTER_DATALOADER;
    case TUTTI_EVENT_ITERATION_STARTED:
        return TUTTI_EVENT_BATCH_START;
    case TUTTI_EVENT_ITERATION_COMPLETED:
        return TUTTI_EVENT_BATCH_END;
    case TUTTI_EVENT_EPOCH_COMPLETED:
        return TUTTI_EVENT_EPOCH_END;
    case TUTTI_EVENT_COMPLETED:
        return TUTTI_EVENT_FIT_END;
    default:
        return -1;
    }
}
