/* trace.c - the ring of traces, and sinks that take them. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/engine_internal.h"

tutti_status engine_trace_to(engine *e, void (*take)(void *ctx, const tutti_trace *trace),
                             void *ctx, bool all, tutti_error *err)
{
    if (e->traces.nsinks == ENGINE_SINKS)
        return tutti_fail(err, TUTTI_E_RANGE, "traces go to at most %d places", ENGINE_SINKS);
    e->traces.sinks[e->traces.nsinks++] = (trace_sink){take, ctx, all};
    e->traces.all = e->traces.all || all;
    engine_set_gates(e);
    return TUTTI_OK;
}

void engine_trace(engine *e, const tutti_trace *trace)
{
    e->traces.ring[e->traces.count++ % ENGINE_RING] = *trace;
    const bool whole = crash_breadcrumb.whole;
    crash_breadcrumb.whole = true; /* no line is left in part */
    for (int k = 0; k < e->traces.nsinks; k++)
        if (trace->ran || e->traces.sinks[k].all)
            e->traces.sinks[k].take(e->traces.sinks[k].ctx, trace);
    crash_breadcrumb.whole = whole;
}

size_t engine_traces(const engine *e, tutti_trace *ret_traces, size_t capacity)
{
    uint64_t n = e->traces.count < ENGINE_RING ? e->traces.count : ENGINE_RING;
    n = n < capacity ? n : capacity;
    for (uint64_t k = 0; k < n; k++)
        ret_traces[k] = e->traces.ring[(e->traces.count - n + k) % ENGINE_RING];
    return (size_t)n;
}
