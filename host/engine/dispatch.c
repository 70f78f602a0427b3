/* dispatch.c - runs an event: who hears it, in turn, and what their failures do to the run. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/monotonic.h"
#include "base/text.h"
#include "engine/engine_internal.h"

#include <stdio.h>
#include <string.h>

/* ---- failures ---- */

/* What a participant's failure does to the run: an error when it is to stop, else OK. */
__attribute__((cold, noinline)) static tutti_status
failed(engine *e, uint32_t part, const char *call, const tutti_event *event,
       tutti_status status, const tutti_error *cause, tutti_error *err)
{
    const participant *p = &e->parts[part];
    char bare[96];
    const char *text = text_after_name(cause->text, p->name);
    if (!text[0]) {
        (void)snprintf(bare, sizeof bare, "%s returned %s without saying why", call,
                       tutti_status_name(status));
        text = bare;
    }
    if (p->on_error == ON_ERROR_STOP)
        return tutti_fail(err, status < 0 ? status : TUTTI_E_FAIL, "%s on %s: %s", p->name,
                          event->name, text);
    if (p->on_error == ON_ERROR_DISABLE) {
        engine_log(e, TUTTI_LOG_ERROR, p->name, "on %s: %s (disabled from now on)", event->name,
                   text);
        engine_disable(e, part);
    } else {
        engine_log(e, TUTTI_LOG_WARNING, p->name, "on %s: %s (ignored)", event->name, text);
    }
    return TUTTI_OK;
}

/* ---- algorithms ---- */

/* A match that failed, or whose answer means nothing. */
__attribute__((cold, noinline)) static tutti_status
match_failed(engine *e, const dispatch_entry *h, const tutti_event *event, tutti_status status,
             tutti_error *err)
{
    tutti_error cause = TUTTI_ERROR_INIT;
    if (status > 0)
        status = tutti_fail(&cause, TUTTI_E_RANGE,
                            "match returned %d, want 0, 1 or a negative status", status);
    return failed(e, h->part, "match", event, status, &cause, err);
}

/* Asks every algorithm of the event; nothing is applied before all have answered.  The hot loop of the
 * whole host: one store says who is asked, and an answer of 0 costs nothing more. */
static inline tutti_status match_all(engine *e, const event_slot *slot, breadcrumb *crumb,
                                     uint64_t *ret_matched, tutti_error *err)
{
    const tutti_event *event = &slot->event;
    const dispatch_entry *h = slot->entries, *const end = h + slot->nalgorithms;
    uint64_t matched = 0;
    crumb->call = "match";
    for (uint64_t bit = 1; h < end; h++, bit <<= 1) {
        crumb->who = &h->who;
        const int32_t answer = h->match(h->self, event);
        if (__builtin_expect(answer == 0, 1))
            continue;
        if (__builtin_expect(answer == 1, 1)) {
            matched |= bit;
        } else {
            const tutti_status s = match_failed(e, h, event, answer, err);
            if (s != TUTTI_OK)
                return s;
        }
    }
    *ret_matched = matched;
    return TUTTI_OK;
}

static tutti_status apply_one(engine *e, const dispatch_entry *h, int32_t order,
                              const tutti_event *event, breadcrumb *crumb, tutti_error *err)
{
    const participant *p = &e->parts[h->part];
    tutti_error cause = TUTTI_ERROR_INIT;
    tutti_trace trace = {.struct_size = (uint32_t)sizeof trace,
                         .event = event->id,
                         .name = p->name,
                         .event_name = event->name,
                         .step = event->step,
                         .exit_code = TUTTI_EXIT_NONE,
                         .order = order,
                         .ran = 1};
    if (p->disabled)
        return TUTTI_OK;
    if (e->debug)
        engine_debug(e, event->id, "Running algorithm %s", p->name);
    crumb->who = &h->who;
    crumb->call = "apply";
    profiler *const profiled = e->profiler;
    const uint32_t span =
        profiled ? profiler_begin(profiled, "algorithm", p->name, event->name) : 0;
    const int64_t started = monotonic_ns();
    const tutti_status s = p->calls->apply(h->self, event, &trace.exit_code, &cause);
    crash_keep_locale();
    trace.duration_ns = (uint64_t)(monotonic_ns() - started);
    if (profiled)
        profiler_end(profiled, span);
    engine_trace(e, &trace);
    return s == TUTTI_OK ? TUTTI_OK : failed(e, h->part, "apply", event, s, &cause, err);
}

__attribute__((noinline)) static tutti_status apply_all(engine *e, const event_slot *slot,
                                                        uint64_t matched, breadcrumb *crumb,
                                                        tutti_error *err)
{
    const cached_order *cached = NULL;
    tutti_status s = engine_find_order(e, slot->event.id, matched, &cached, err);
    if (s != TUTTI_OK)
        return s;
    uint8_t place[ENGINE_WIDTH]; /* an apply may run events itself, which may move `cached` */
    const uint32_t n = cached->n;
    memcpy(place, cached->place, n);
    for (uint32_t k = 0; k < n && s == TUTTI_OK; k++)
        s = apply_one(e, &slot->entries[place[k]], (int32_t)k, &slot->event, crumb, err);
    return s;
}

/* Traces of those that will not run at this event. */
__attribute__((cold, noinline)) static void trace_the_others(engine *e, const event_slot *slot,
                                                             uint64_t matched)
{
    for (uint32_t k = 0; k < slot->nalgorithms; k++) {
        const tutti_trace trace = {.struct_size = (uint32_t)sizeof trace,
                                   .event = slot->event.id,
                                   .name = e->parts[slot->entries[k].part].name,
                                   .event_name = slot->event.name,
                                   .step = slot->event.step,
                                   .exit_code = TUTTI_EXIT_NONE,
                                   .order = -1};
        if (!(matched >> k & 1))
            engine_trace(e, &trace);
    }
}

static inline tutti_status run_algorithms(engine *e, const event_slot *slot, breadcrumb *crumb,
                                          tutti_error *err)
{
    uint64_t matched = 0;
    const tutti_status s = match_all(e, slot, crumb, &matched, err);
    crash_keep_locale();
    if (s != TUTTI_OK)
        return s;
    if (e->traces.all)
        trace_the_others(e, slot, matched);
    return matched ? apply_all(e, slot, matched, crumb, err) : TUTTI_OK;
}

/* Ignite's event at the same point of a training loop. */
static int32_t ignite_counterpart(int32_t event)
{
    switch (event) {
    case TUTTI_EVENT_FIT_START:
        return TUTTI_EVENT_STARTED;
    case TUTTI_EVENT_EPOCH_START:
        return TUTTI_EVENT_EPOCH_STARTED;
    case TUTTI_EVENT_BEFORE_DATALOADER:
        return TUTTI_EVENT_GET_BATCH_STARTED;
    case TUTTI_EVENT_AFTER_DATALOADER:
        return TUTTI_EVENT_GET_BATCH_COMPLETED;
    case TUTTI_EVENT_BATCH_START:
        return TUTTI_EVENT_ITERATION_STARTED;
    case TUTTI_EVENT_BATCH_END:
        return TUTTI_EVENT_ITERATION_COMPLETED;
    case TUTTI_EVENT_EPOCH_END:
        return TUTTI_EVENT_EPOCH_COMPLETED;
    case TUTTI_EVENT_FIT_END:
        return TUTTI_EVENT_COMPLETED;
    default:
        return -1;
    }
}

/* ---- listeners ---- */

static inline tutti_status hear_one(engine *e, const event_slot *slot, const dispatch_entry *h,
                                    breadcrumb *crumb, tutti_error *err)
{
    const tutti_event *event = &slot->event;
    const participant *p = &e->parts[h->part];
    const char *kind = p->class == CLASS_HANDLER ? "handler" : "callback";
    tutti_error cause;
    cause.struct_size = (uint32_t)sizeof cause;
    cause.status = TUTTI_OK;
    cause.text[0] = '\0';
    if (e->debug && !p->disabled)
        engine_debug(e, event->id, "Running %s %s", kind, p->name);
    const bool whole = crumb->whole;
    crumb->who = &h->who;
    crumb->call = "run_event";
    crumb->whole = whole || p->class == CLASS_LOGGER; /* it may be within a row of its file */
    profiler *const profiled = p->disabled ? NULL : e->profiler;
    const uint32_t span = profiled ? profiler_begin(profiled, kind, p->name, event->name) : 0;
    const tutti_status s = h->hear(h->self, event, &cause);
    crash_keep_locale();
    crumb->whole = whole;
    if (profiled)
        profiler_end(profiled, span);
    return s == TUTTI_OK ? TUTTI_OK : failed(e, h->part, "run_event", event, s, &cause, err);
}

static bool waits(const engine *e, const event_slot *slot, const dispatch_entry *h)
{
    const participant *p = &e->parts[h->part];
    const int32_t held = e->hooks.held - 1;
    return held >= 0 && p->class == CLASS_HANDLER && !p->evaluates &&
           (held == slot->event.id || held == ignite_counterpart(slot->event.id));
}

__attribute__((noinline)) static tutti_status run_listeners(engine *e, const event_slot *slot,
                                                            breadcrumb *crumb, tutti_error *err)
{
    for (uint32_t k = 0; k < slot->nlisteners; k++) {
        const dispatch_entry *h = &slot->entries[slot->nalgorithms + k];
        const tutti_status s = waits(e, slot, h) ? TUTTI_OK : hear_one(e, slot, h, crumb, err);
        if (s != TUTTI_OK)
            return s;
        if (slot->event.id == TUTTI_EVENT_INIT)
            e->parts[h->part].begun = true;
    }
    return TUTTI_OK;
}

bool engine_has_begun(const engine *e, size_t k)
{
    const participant *p = &e->parts[k];
    bool listens = false;
    for (size_t j = 0; j < p->nevents; j++)
        listens = listens || p->events[j] == TUTTI_EVENT_INIT;
    return p->begun || !listens;
}

/* ---- the event ---- */

static tutti_status refuse(const engine *e, int32_t id, tutti_error *err)
{
    return tutti_fail(err, TUTTI_E_STATE,
                      e->closed
                          ? "the engine was already closed and cannot run %s: make a new one"
                          : "the engine is not sealed yet and cannot run %s",
                      engine_event_name(e, id));
}

/* At init the listeners come first. */
__attribute__((cold, noinline)) static tutti_status
run_init(engine *e, event_slot *slot, breadcrumb *crumb, tutti_error *err)
{
    tutti_status s = engine_check_open(e, err);
    if (s == TUTTI_OK)
        s = run_listeners(e, slot, crumb, err);
    return s == TUTTI_OK && slot->nalgorithms ? run_algorithms(e, slot, crumb, err) : s;
}

/* The end of an event on the time line.  A trace that cannot be written does not stop the run. */
static void leave_profiler(engine *e, const tutti_event *event)
{
    tutti_error cause = TUTTI_ERROR_INIT;
    if (profiler_leave(e->profiler, event, &cause))
        engine_log(e, TUTTI_LOG_ERROR, "profiler", "%s; nothing more is recorded", cause.text);
}

tutti_status engine_run_marker_only_event(engine *e, int32_t event, tutti_error *err)
{
    if ((uint32_t)event >= ENGINE_EVENTS)
        return tutti_fail(err, TUTTI_E_ARG, "there is no event %d", event);
    if (e->closed || !e->sealed)
        return refuse(e, event, err);
    if (e->profiler) {
        profiler_enter(e->profiler, &e->slots[event].event);
        leave_profiler(e, &e->slots[event].event);
    }
    return TUTTI_OK;
}

tutti_status engine_run_algorithms(engine *e, int32_t event, tutti_error *err)
{
    if ((uint32_t)event >= ENGINE_EVENTS)
        return tutti_fail(err, TUTTI_E_ARG, "there is no event %d", event);
    if (e->closed || !e->sealed)
        return refuse(e, event, err);
    event_slot *slot = &e->slots[event];
    const breadcrumb outer = crash_breadcrumb;
    slot->event.step = (uint64_t)e->options.time->batch;
    crash_breadcrumb.at = &slot->event;
    const tutti_status s =
        slot->nalgorithms ? run_algorithms(e, slot, &crash_breadcrumb, err) : TUTTI_OK;
    crash_breadcrumb = outer;
    return s;
}

int32_t engine_held(const engine *e)
{
    return e->hooks.held - 1;
}

void engine_hold(engine *e, int32_t event)
{
    e->hooks.held = event + 1;
}

/* Those of one event. */
static tutti_status run_waiting(engine *e, event_slot *slot, tutti_error *err)
{
    tutti_status s = TUTTI_OK;
    slot->event.step = (uint64_t)e->options.time->batch;
    crash_breadcrumb.at = &slot->event;
    for (uint32_t k = 0; k < slot->nlisteners && s == TUTTI_OK; k++) {
        const dispatch_entry *h = &slot->entries[slot->nalgorithms + k];
        if (waits(e, slot, h))
            s = hear_one(e, slot, h, &crash_breadcrumb, err);
    }
    return s;
}

tutti_status engine_run_held(engine *e, tutti_error *err)
{
    const int32_t event = engine_held(e);
    if (event < 0)
        return TUTTI_OK;
    if (e->closed || !e->sealed)
        return refuse(e, event, err);
    const breadcrumb outer = crash_breadcrumb;
    tutti_status s = run_waiting(e, &e->slots[event], err);
    const int32_t around = event_counterpart(event);
    if (!s && around >= 0)
        s = run_waiting(e, &e->slots[around], err);
    crash_breadcrumb = outer;
    engine_hold(e, -1);
    return s;
}

/* Who hears the event, in turn.  The thread's crumb is looked up once; what it said is put back. */
static tutti_status run_gate(engine *e, event_slot *slot, tutti_error *err)
{
    breadcrumb *crumb = &crash_breadcrumb;
    __asm__("" : "+r"(crumb));
    const crash_who *const who = crumb->who;
    const tutti_event *const at = crumb->at;
    const char *const call = crumb->call;
    slot->event.step = (uint64_t)e->options.time->batch;
    slot->fires++;
    crash_beat();
    crumb->at = &slot->event;
    tutti_status s = TUTTI_OK;
    if (__builtin_expect(slot->event.id == TUTTI_EVENT_INIT, 0)) {
        s = run_init(e, slot, crumb, err);
    } else {
        if (slot->nalgorithms)
            s = run_algorithms(e, slot, crumb, err);
        if (slot->nlisteners && s == TUTTI_OK)
            s = run_listeners(e, slot, crumb, err);
    }
    crumb->at = at;
    crumb->who = who;
    crumb->call = call;
    return s;
}

/* The same where each step is told, or where nothing may run. */
__attribute__((cold, noinline)) static tutti_status run_slowly(engine *e, int32_t id,
                                                               tutti_error *err)
{
    event_slot *slot = &e->slots[id];
    if (e->closed || !e->sealed)
        return refuse(e, id, err);
    if (e->debug)
        engine_debug(e, id, "Running event");
    slot->event.step = (uint64_t)e->options.time->batch;
    if (e->hooks.watch)
        e->hooks.watch(e->hooks.watch_ctx, &slot->event);
    if (e->profiler)
        profiler_enter(e->profiler, &slot->event);
    const tutti_status s = run_gate(e, slot, err);
    if (e->profiler)
        leave_profiler(e, &slot->event);
    return s;
}

tutti_status engine_run_event(engine *e, int32_t event, tutti_error *err)
{
    const uint32_t k = (uint32_t)event;
    if (k >= ENGINE_EVENTS)
        return tutti_fail(err, TUTTI_E_ARG, "there is no event %d", event);
    if (!(e->gate[k >> 6] >> (k & 63) & 1))
        return TUTTI_OK;
    return e->slow ? run_slowly(e, event, err) : run_gate(e, &e->slots[k], err);
}

bool engine_hears(const engine *e, int32_t event)
{
    const int32_t other = ignite_counterpart(event);
    const uint32_t k = (uint32_t)event;
    return k >= ENGINE_EVENTS || (e->gate[k >> 6] >> (k & 63) & 1) ||
           (other >= 0 && engine_hears(e, other));
}

tutti_status engine_run_train_event(engine *e, int32_t event, tutti_error *err)
{
    const int32_t other = ignite_counterpart(event);
    if (other < 0)
        return engine_run_event(e, event, err);
    const bool outer_first = event_side(event) < 0;
    const tutti_status s = engine_run_event(e, outer_first ? event : other, err);
    return s != TUTTI_OK ? s : engine_run_event(e, outer_first ? other : event, err);
}
