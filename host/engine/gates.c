/* gates.c - which events have work: who listens, who has left, what is told of each step. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/engine_internal.h"

#include <string.h>

bool engine_is_debugged(const engine *e)
{
    return e->debug;
}

bool engine_listens(const engine *e, int32_t event)
{
    const uint32_t k = (uint32_t)event;
    return k < ENGINE_EVENTS && (e->listens[k >> 6] >> (k & 63) & 1);
}

void engine_set_gates(engine *e)
{
    const bool open_all = !e->sealed || e->closed || e->debug || e->profiler || e->hooks.watch;
    e->slow = open_all || e->traces.all;
    if (open_all)
        memset(e->gate, 0xff, sizeof e->gate);
    else
        memcpy(e->gate, e->listens, sizeof e->gate);
    e->gate[TUTTI_EVENT_INIT >> 6] |= UINT64_C(1) << (TUTTI_EVENT_INIT & 63);
}

static int32_t never_matches(void *self, const tutti_event *event)
{
    return 0;
}

static tutti_status hears_nothing(void *self, const tutti_event *event, tutti_error *err)
{
    return TUTTI_OK;
}

void engine_disable(engine *e, uint32_t part)
{
    e->parts[part].disabled = true;
    for (int32_t event = 0; event < ENGINE_EVENTS; event++) {
        event_slot *slot = &e->slots[event];
        const uint32_t n = slot->nalgorithms + slot->nlisteners;
        bool anyone = false;
        for (uint32_t k = 0; k < n; k++) {
            dispatch_entry *h = &slot->entries[k];
            if (h->part == part) {
                h->match = never_matches;
                h->hear = hears_nothing;
            }
            anyone = anyone || !e->parts[h->part].disabled;
        }
        if (n && !anyone)
            e->listens[event >> 6] &= ~(UINT64_C(1) << (event & 63));
    }
    engine_set_gates(e);
}

void engine_watch(engine *e, void (*watch)(void *ctx, const tutti_event *event), void *ctx)
{
    e->hooks.watch = watch;
    e->hooks.watch_ctx = ctx;
    engine_set_gates(e);
}

void engine_profile(engine *e, profiler *p)
{
    e->profiler = p;
    engine_set_gates(e);
}
