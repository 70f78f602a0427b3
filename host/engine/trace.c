/* trace.c - the ring of traces, and sinks that take them. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/participant.h"

tutti_status engine_trace_to(engine *e, void (*take)(void *ctx, const tutti_trace *trace),
                             void *ctx, bool all, tutti_error *err)
{
    if (e->nsinks == ENGINE_SINKS)
        return tutti_fail(err, TUTTI_E_RANGE, "traces go to at most %d places", ENGINE_SINKS);
    e->sinks[e->nsinks++] = (trace_sink){take, ctx, all};
    e->traces_all = e->traces_all || all;
    engine_set_gates(e);
    return TUTTI_OK;
}

void engine_trace(engine *e, const tutti_trace *trace)
{
    e->ring[e->ntraces++ % ENGINE_RING] = *trace;
    for (int k = 0; k < e->nsinks; k++)
        if (trace->ran || e->sinks[k].all)
            e->sinks[k].take(e->sinks[k].ctx, trace);
}

size_t engine_traces(const engine *e, tutti_trace *ret_traces, size_t room)
{
    uint64_t n = e->ntraces < ENGINE_RING ? e->ntraces : ENGINE_RING;
    n = n < room ? n : room;
    for (uint64_t k = 0; k < n; k++)
        ret_traces[k] = e->ring[(e->ntraces - n + k) % ENGINE_RING];
    return (size_t)n;
}
