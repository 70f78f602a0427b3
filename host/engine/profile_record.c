/* profile_record.c - spans of markers, and the records that become lines of the trace. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/profile_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int64_t profile_now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Room for one more at `list`; false, and the profiler records nothing more, when there is none. */
static bool grow(profiler *p, void *list, size_t *capacity, size_t used, size_t size)
{
    void **at = list;
    if (used < *capacity)
        return true;
    const size_t more = *capacity ? 2 * *capacity : 64;
    void *grown = realloc(*at, more * size);
    if (!grown) {
        p->lost = true;
        return false;
    }
    *at = grown;
    *capacity = more;
    return true;
}

static bool grow_short(profiler *p, void *list, uint32_t *capacity, uint32_t used, size_t size)
{
    size_t wide = *capacity;
    const bool grown = grow(p, list, &wide, used, size);
    *capacity = (uint32_t)wide;
    return grown;
}

void profile_record(profiler *p, char phase, uint32_t m, const tutti_named_value *values,
                    uint32_t n)
{
    if (p->lost || !grow(p, &p->records, &p->records_capacity, p->nrecords, sizeof *p->records))
        return;
    const uint32_t first = p->nvalues;
    for (uint32_t k = 0; k < n; k++) {
        if (!grow_short(p, &p->values, &p->values_capacity, p->nvalues, sizeof *p->values))
            return;
        counted *c = &p->values[p->nvalues++];
        (void)snprintf(c->name, sizeof c->name, "%s", values[k].name);
        c->value = values[k].value;
    }
    p->records[p->nrecords++] = (record){.at_ns = profile_now(),
                                         .epoch = p->run.time->epoch,
                                         .batch = p->run.time->batch,
                                         .marker = m,
                                         .first = first,
                                         .count = n,
                                         .phase = phase};
    p->worth_saving = p->worth_saving || p->action != TUTTI_PROFILE_SKIP;
}

bool profile_records(const profiler *p, uint32_t m)
{
    return !p->lost && (p->markers[m].actions >> p->action & 1);
}

void profile_start(profiler *p, uint32_t m)
{
    if (!grow_short(p, &p->open, &p->open_capacity, p->nopen, sizeof *p->open))
        return;
    const bool recorded = profile_records(p, m);
    p->markers[m].open++;
    p->open[p->nopen++] = (open_span){m, recorded};
    if (recorded)
        profile_record(p, 'B', m, NULL, 0);
}

void profile_finish(profiler *p, uint32_t m)
{
    while (p->markers[m].open) {
        const open_span top = p->open[--p->nopen];
        p->markers[top.marker].open--;
        if (top.recorded)
            profile_record(p, 'E', top.marker, NULL, 0);
        if (top.marker == m)
            return;
    }
}
