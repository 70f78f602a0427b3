/* operations.c - an operation of the comm: what it sends, whether it has failed, and what others see of it. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "dist/world_internal.h"

#include <stdio.h>
#include <time.h>

tutti_status world_note(world *w, tutti_status s)
{
    if (s)
        atomic_store(&w->broken, true);
    return s;
}

void world_tell_phase(world *w, const char *phase)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    tutti_progress p = {.step = w->step,
                        .since_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec};
    (void)snprintf(p.phase, sizeof p.phase, "%s", phase);
    w->table->tell(w->self, &p);
}

void world_begin_phase(world *w, const world_piece *one)
{
    if (one->begins_step) {
        w->step = one->step;
        w->buckets[0] = w->buckets[1] = 0;
    }
    world_tell_phase(w, one->phase);
}

void world_count_told(world *w, uint64_t bytes)
{
    const world_machines *m = &w->machines;
    WORLD_COUNT(w->counts.bytes, bytes * (uint64_t)(w->info.size - 1));
    if (m->first)
        WORLD_COUNT(w->counts.far, bytes * (uint64_t)(w->info.size - m->size[w->info.rank]));
}

void world_count_sent(world *w, const tutti_parts *out)
{
    for (int32_t r = 0; r < w->info.size; r++) {
        const int32_t *first = w->machines.first;
        WORLD_COUNT(w->counts.bytes, r == w->info.rank ? 0 : out->bytes[r]);
        WORLD_COUNT(w->counts.far,
                    first && first[r] != first[w->info.rank] ? out->bytes[r] : 0);
    }
}

tutti_status world_tell_all(world *w, const void *mine, void *all, uint64_t bytes,
                            tutti_error *err)
{
    world_count_told(w, bytes);
    instance_call c = instance_enter(w->options.comm, "exchange");
    const tutti_status s = w->table->exchange(w->self, mine, all, bytes, err);
    instance_leave(&c);
    return world_note(w, s);
}
