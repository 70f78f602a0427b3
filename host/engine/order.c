/* order.c - the passes over the algorithms that matched, and the orders that came of them. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/counts.h"
#include "base/text.h"
#include "engine/engine_internal.h"
#include "tutti/pass.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The working list of one pass pipeline: bits of the event's algorithms, in their present order. */
typedef struct ordering {
    engine *e;
    int32_t event;
    bool quiet; /* for engine_order: no warnings */
    uint32_t n;
    uint8_t place[ENGINE_WIDTH];
    const participant *list[ENGINE_WIDTH];
} ordering;

static const participant *algorithm_at(const engine *e, int32_t event, uint32_t bit)
{
    return &e->parts[e->slots[event].entries[bit].part];
}

/* place[k] = place[order[k]] for the first `n`. */
static void apply_places(ordering *o, const uint8_t *order, uint32_t n)
{
    uint8_t next[ENGINE_WIDTH];
    for (uint32_t k = 0; k < n; k++)
        next[k] = o->place[order[k]];
    memcpy(o->place, next, n);
    o->n = n;
    for (uint32_t k = 0; k < n; k++)
        o->list[k] = algorithm_at(o->e, o->event, o->place[k]);
}

/* Exactly the events named after_*: neither *_end nor eval_after_* and predict_after_*. */
static bool lifo_event(int32_t event)
{
    return event < COMPOSER_EVENT_END && strncmp(event_name(event), "after_", 6) == 0;
}

static void pass_lifo(ordering *o)
{
    uint8_t order[ENGINE_WIDTH];
    if (!lifo_event(o->event))
        return;
    for (uint32_t k = 0; k < o->n; k++)
        order[k] = (uint8_t)(o->n - 1 - k);
    apply_places(o, order, o->n);
}

/* Before the rules, which say it again: a pass between the two sees it done. */
static void pass_first(ordering *o)
{
    uint8_t order[ENGINE_WIDTH];
    uint32_t n = 0;
    for (int first = 1; first >= 0; first--)
        for (uint32_t k = 0; k < o->n; k++)
            if (rules_always_first(o->list[k]) == (first == 1))
                order[n++] = (uint8_t)k;
    apply_places(o, order, o->n);
}

static void pass_interpolation(ordering *o)
{
    const participant *first = NULL;
    if (o->quiet || o->e->warned_interpolation)
        return;
    for (uint32_t k = 0; k < o->n; k++) {
        if (!o->list[k]->interpolates_loss)
            continue;
        if (first) {
            engine_log(o->e, TUTTI_LOG_WARNING, "engine",
                       "%s and %s both interpolate the loss: together they mix targets in a "
                       "way that neither means",
                       first->name, o->list[k]->name);
            o->e->warned_interpolation = true;
            return;
        }
        first = o->list[k];
    }
}

static tutti_status pass_rules(ordering *o, tutti_error *err)
{
    uint8_t order[ENGINE_WIDTH];
    const tutti_status s =
        rules_sort(o->list, o->n, o->event, engine_event_name(o->e, o->event), order, err);
    if (s == TUTTI_OK)
        apply_places(o, order, o->n);
    return s;
}

static bool hears(const participant *p, int32_t event)
{
    for (size_t k = 0; k < p->nevents; k++)
        if (p->events[k] == event)
            return true;
    return !p->events;
}

/* What a code pass answers must be drawn from what it was given. */
static tutti_status check_answer(const participant *p, const uint32_t *order, uint32_t count,
                                 uint32_t n, uint8_t *ret_order, tutti_error *err)
{
    uint64_t seen = 0;
    if (count > n)
        return tutti_fail(err, TUTTI_E_RANGE, "it returned %u algorithms out of %u", count, n);
    for (uint32_t k = 0; k < count; k++) {
        if (order[k] >= n || seen >> order[k] & 1)
            return tutti_fail(err, TUTTI_E_RANGE,
                              "it returned index %u %s, want each of 0 to %u at most once",
                              order[k], order[k] >= n ? "of none" : "twice", n - 1);
        seen |= UINT64_C(1) << order[k];
        ret_order[k] = (uint8_t)order[k];
    }
    return TUTTI_OK;
}

static tutti_status pass_code(ordering *o, participant *p, tutti_error *err)
{
    const char *names[ENGINE_WIDTH];
    uint32_t order[ENGINE_WIDTH] = {0}, count = o->n;
    uint8_t small[ENGINE_WIDTH];
    if (p->disabled || !hears(p, o->event))
        return TUTTI_OK;
    for (uint32_t k = 0; k < o->n; k++)
        names[k] = o->list[k]->name;

    tutti_error cause = TUTTI_ERROR_INIT;
    const char *name = engine_event_name(o->e, o->event);
    const tutti_pass_v1 *pass = p->calls->query(p->self, TUTTI_PASS_V1);
    const breadcrumb was = crash_breadcrumb;
    crash_breadcrumb = (breadcrumb){.plugin = p->plugin,
                                    .object = p->name,
                                    .call = "order",
                                    .event = name,
                                    .step = o->e->slots[o->event].event.step};
    tutti_status s = pass ? pass->order(p->self, o->event, names, o->n, order, &count, &cause)
                          : tutti_fail(&cause, TUTTI_E_STATE, "it has no %s", TUTTI_PASS_V1);
    crash_leave(&was);
    if (s == TUTTI_OK)
        s = check_answer(p, order, count, o->n, small, &cause);
    if (s == TUTTI_OK) {
        apply_places(o, small, count);
        return TUTTI_OK;
    }
    if (p->on_error == ON_ERROR_STOP)
        return tutti_fail(err, s, "pass %s on %s: %s", p->name, name,
                          cause.text[0] ? text_after_name(cause.text, p->name)
                                        : tutti_status_name(s));
    p->disabled = p->on_error == ON_ERROR_DISABLE;
    engine_log(o->e, TUTTI_LOG_WARNING, p->name, "pass on %s: %s (%s)", event_name(o->event),
               cause.text[0] ? text_after_name(cause.text, p->name) : tutti_status_name(s),
               p->disabled ? "disabled from now on" : "ignored");
    return TUTTI_OK;
}

static tutti_status run_pass(ordering *o, int pass, tutti_error *err)
{
    switch (pass) {
    case PASS_LIFO:
        pass_lifo(o);
        return TUTTI_OK;
    case PASS_INTERPOLATION:
        pass_interpolation(o);
        return TUTTI_OK;
    case PASS_RULES:
        return pass_rules(o, err);
    case PASS_FIRST:
        pass_first(o);
        return TUTTI_OK;
    default:
        return pass_code(o, &o->e->parts[pass], err);
    }
}

static void start(ordering *o, engine *e, int32_t event, uint64_t matched, bool quiet)
{
    *o = (ordering){.e = e, .event = event, .quiet = quiet};
    for (uint64_t left = matched; left; left &= left - 1) {
        o->place[o->n] = (uint8_t)__builtin_ctzll(left);
        o->list[o->n] = algorithm_at(e, event, o->place[o->n]);
        o->n++;
    }
}

/* A place for one more order of the event: new memory up to ENGINE_ORDERS, then the oldest. */
static cached_order *place_for_order(event_slot *slot)
{
    if (slot->norders == slot->capacity && slot->capacity < ENGINE_ORDERS) {
        const uint32_t capacity = slot->capacity ? 2 * slot->capacity : 4;
        cached_order *grown = realloc(slot->orders, capacity * sizeof *grown);
        if (!grown)
            return NULL;
        slot->orders = grown;
        slot->capacity = capacity;
    }
    if (slot->norders < slot->capacity)
        return &slot->orders[slot->norders++];
    slot->replaced = (slot->replaced + 1) % slot->norders;
    return &slot->orders[slot->replaced];
}

tutti_status engine_find_order(engine *e, int32_t event, uint64_t matched,
                               const cached_order **ret, tutti_error *err)
{
    event_slot *slot = &e->slots[event];
    if (slot->latest < slot->norders && slot->orders[slot->latest].matched == matched) {
        *ret = &slot->orders[slot->latest];
        return TUTTI_OK;
    }
    for (uint32_t k = 0; k < slot->norders; k++) {
        if (slot->orders[k].matched == matched) {
            slot->latest = k;
            *ret = &slot->orders[k];
            return TUTTI_OK;
        }
    }
    ordering o;
    start(&o, e, event, matched, false);
    for (size_t k = 0; k < e->npasses; k++) {
        const tutti_status s = run_pass(&o, e->passes[k], err);
        if (s != TUTTI_OK)
            return s;
    }
    cached_order *cached = place_for_order(slot);
    if (!cached)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for the order at %s",
                          engine_event_name(e, event));
    cached->matched = matched;
    cached->n = o.n;
    memcpy(cached->place, o.place, sizeof cached->place);
    slot->latest = (uint32_t)(cached - slot->orders);
    *ret = cached;
    return TUTTI_OK;
}

/* Runs the passes one by one and notes, for each algorithm, the last one that had a say. */
static tutti_status ordered_algorithms(engine *e, int32_t event, ordering *ret,
                                       tutti_error *err)
{
    const uint32_t width = e->slots[event].nalgorithms;
    ordering o;
    start(&o, e, event, width == 64 ? UINT64_MAX : (UINT64_C(1) << width) - 1, true);
    for (uint32_t k = 0; k < o.n; k++)
        (void)snprintf(e->reasons[k], sizeof e->reasons[k], "list order");
    for (size_t pass = 0; pass < e->npasses; pass++) {
        const ordering was = o;
        const tutti_status s = run_pass(&o, e->passes[pass], err);
        if (s)
            return s;
        for (uint32_t k = 0; k < o.n; k++) {
            char *reason = e->reasons[o.place[k]];
            if (e->passes[pass] == PASS_RULES)
                (void)rules_reason(o.list, o.n, k, event, reason, sizeof e->reasons[0]);
            else if (e->passes[pass] == PASS_LIFO && lifo_event(event) && o.n > 1)
                (void)snprintf(reason, sizeof e->reasons[0],
                               "reversed: after_* events run last in, first out");
            else if (e->passes[pass] >= 0 && was.place[k] != o.place[k])
                (void)snprintf(reason, sizeof e->reasons[0], "moved by pass %s",
                               e->parts[e->passes[pass]].name);
        }
    }
    *ret = o;
    return TUTTI_OK;
}

/* Callbacks and loggers keep the order of their list but for their manifests' rules. */
static void ordered_listeners(engine *e, int32_t event, engine_place *places, size_t capacity)
{
    const event_slot *slot = &e->slots[event];
    const participant *list[ENGINE_WIDTH];
    uint32_t n = 0, first = 0;
    for (uint32_t k = 0; k < slot->nlisteners; k++) {
        const participant *p = &e->parts[slot->entries[slot->nalgorithms + k].part];
        if (n && list[0]->class != p->class) {
            first = k;
            n = 0;
        }
        list[n++] = p;
        if (k + 1 < slot->nlisteners &&
            e->parts[slot->entries[slot->nalgorithms + k + 1].part].class == p->class)
            continue;
        for (uint32_t j = 0; j < n && first + j < capacity; j++) {
            char *reason = e->reasons[ENGINE_WIDTH * (list[j]->class) + j];
            if (!rules_reason(list, n, j, event, reason, sizeof e->reasons[0]))
                (void)snprintf(reason, sizeof e->reasons[0], "list order");
            places[first + j] = (engine_place){list[j]->name, list[j]->kind, reason};
        }
    }
}

tutti_status engine_order(engine *e, int32_t event, engine_place *places, size_t capacity,
                          size_t *ret_count, tutti_error *err)
{
    ordering o;
    *ret_count = 0;
    if (event < 0 || event >= ENGINE_EVENTS || !e->sealed)
        return TUTTI_OK;
    const tutti_status s = ordered_algorithms(e, event, &o, err);
    if (s)
        return s;
    const bool init = event == TUTTI_EVENT_INIT; /* there algorithms come last */
    const size_t listeners = e->slots[event].nlisteners;
    const size_t first = init ? listeners : 0, at = init ? 0 : o.n;
    for (size_t k = 0; k < o.n && first + k < capacity; k++)
        places[first + k] =
            (engine_place){o.list[k]->name, o.list[k]->kind, e->reasons[o.place[k]]};
    if (at < capacity)
        ordered_listeners(e, event, places + at, capacity - at);
    *ret_count = o.n + listeners;
    return TUTTI_OK;
}

const char *engine_pass_name(const engine *e, size_t k)
{
    if (k >= e->npasses)
        return NULL;
    switch (e->passes[k]) {
    case PASS_LIFO:
        return "last in, first out on after_*";
    case PASS_INTERPOLATION:
        return "warning of two that interpolate the loss";
    case PASS_RULES:
        return "rules of the manifests";
    case PASS_FIRST:
        return "selective_backprop first";
    default:
        return e->parts[e->passes[k]].name;
    }
}
