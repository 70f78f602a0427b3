/* profile_record.c - spans of markers, and the records that become lines of the trace. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/profile/profile_internal.h"

#include "base/monotonic.h"

#include <stdio.h>
#include <stdlib.h>

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
    profile_record_at(p, phase, m, monotonic_ns(), values, n);
}

void profile_record_at(profiler *p, char phase, uint32_t m, int64_t at_ns,
                       const tutti_named_value *values, uint32_t n)
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
    p->records[p->nrecords++] = (record){.at_ns = at_ns,
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

bool profiler_measures(const profiler *p)
{
    return p->action == TUTTI_PROFILE_ACTIVE || p->action == TUTTI_PROFILE_ACTIVE_AND_SAVE;
}

void profile_start(profiler *p, uint32_t m)
{
    if (!grow_short(p, &p->open, &p->open_capacity, p->nopen, sizeof *p->open))
        return;
    const bool recorded = profile_records(p, m);
    const int64_t now = monotonic_ns();
    p->markers[m].open++;
    p->open[p->nopen++] = (open_span){m, recorded, profiler_measures(p), now, 0};
    if (recorded)
        profile_record_at(p, 'B', m, now, NULL, 0);
}

/* A span of `ns` is over, `inner_ns` of them in others; its parent is the innermost that is open. */
static void sum_span(profiler *p, uint32_t m, bool measured, int64_t ns, int64_t inner_ns)
{
    profile_sum *sum = &p->markers[m].sum;
    if (p->nopen)
        p->open[p->nopen - 1].inner_ns += ns;
    sum->count += measured;
    sum->ns += measured ? ns : 0;
    sum->own_ns += measured ? ns - inner_ns : 0;
}

void profile_finish(profiler *p, uint32_t m)
{
    while (p->markers[m].open) {
        const open_span top = p->open[--p->nopen];
        const int64_t now = monotonic_ns();
        p->markers[top.marker].open--;
        if (top.recorded)
            profile_record_at(p, 'E', top.marker, now, NULL, 0);
        sum_span(p, top.marker, top.measured, now - top.begin_ns, top.inner_ns);
        if (top.marker == m)
            return;
    }
}

void profile_span(profiler *p, uint32_t m, int64_t begin_ns, int64_t end_ns)
{
    if (profile_records(p, m)) {
        profile_record_at(p, 'B', m, begin_ns, NULL, 0);
        profile_record_at(p, 'E', m, end_ns, NULL, 0);
    }
    sum_span(p, m, profiler_measures(p), end_ns - begin_ns, 0);
}
