/* participant.c - an engine's life: participants join, the rules are checked, dispatch tables are laid. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/engine_internal.h"

#include <stdlib.h>
#include <string.h>

tutti_status engine_create(const engine_options *options, engine **ret_engine, tutti_error *err)
{
    static const int builtin[] = {PASS_LIFO, PASS_INTERPOLATION, PASS_RULES};
    /* As many as upstream has, so that an index counts as there. */
    static const int upstream[] = {PASS_FIRST, PASS_RULES, PASS_LIFO, PASS_INTERPOLATION};
    engine *e = calloc(1, sizeof *e);
    if (e) {
        e->passes = malloc(sizeof upstream);
        e->traces.ring = calloc(ENGINE_RING, sizeof *e->traces.ring);
    }
    if (!e || !e->passes || !e->traces.ring) {
        if (e) {
            free(e->passes);
            free(e->traces.ring);
        }
        free(e);
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for the engine");
    }
    const size_t size = options->upstream_order ? sizeof upstream : sizeof builtin;
    memcpy(e->passes, options->upstream_order ? upstream : builtin, size);
    e->npasses = size / sizeof *upstream;
    e->options = *options;
    const char *debug = getenv("ENGINE_DEBUG");
    e->debug = debug && debug[0];
    engine_set_gates(e);
    (void)engine_service(e);
    tutti_status s = engine_name_events(e, err);
    if (s == TUTTI_OK && options->trace)
        s = engine_trace_to(e, options->trace, options->ctx, false, err);
    engine_note_alive(e);
    if (s == TUTTI_OK)
        *ret_engine = e;
    else
        engine_destroy(e);
    return s;
}

void engine_destroy(engine *e)
{
    if (!e)
        return;
    engine_close(e);
    engine_note_gone(e);
    for (int k = 0; k < ENGINE_EVENTS; k++) {
        free(e->slots[k].entries);
        free(e->slots[k].orders);
    }
    for (size_t k = 0; k < e->nparts; k++)
        free(e->parts[k].memory);
    free(e->parts);
    free(e->passes);
    engine_release_bound(e);
    for (size_t k = 0; k < e->retired.count; k++)
        free(e->retired.items[k]);
    free(e->retired.items);
    free(e->attributes.items);
    free(e->traces.ring);
    free(e->reasons);
    free(e);
}

static tutti_status class_of(const participant *p, int *ret_class, tutti_error *err)
{
    static const char *const kinds[CLASS_COUNT] = {TUTTI_KIND_ALGORITHM, TUTTI_KIND_CALLBACK,
                                                   TUTTI_KIND_LOGGER, TUTTI_KIND_PASS,
                                                   KIND_HANDLER};
    for (int k = 0; k < CLASS_COUNT; k++) {
        if (strcmp(p->kind, kinds[k]) != 0)
            continue;
        *ret_class = k;
        return TUTTI_OK;
    }
    return tutti_fail(err, TUTTI_E_ARG,
                      "%s is a %s, want an algorithm, callback, logger or pass", p->name,
                      p->kind);
}

static tutti_status check_calls(const participant *p, tutti_error *err)
{
    const char *missing = NULL;
    if (p->class == CLASS_ALGORITHM)
        missing = !p->calls->match ? "match" : !p->calls->apply ? "apply" : NULL;
    else if (p->class == CLASS_PASS)
        missing = !p->calls->query ? "query" : NULL;
    else if (p->nevents)
        missing = !p->calls->run_event ? "run_event" : NULL;
    if (missing)
        return tutti_fail(err, TUTTI_E_ARG, "%s %s has no %s (%s)", p->kind, p->name, missing,
                          p->manifest);
    for (size_t k = 0; k < p->nevents; k++)
        if (p->events[k] < 0 || p->events[k] >= ENGINE_EVENTS)
            return tutti_fail(err, TUTTI_E_RANGE, "%s %s subscribes to event %d, want 0 to %d",
                              p->kind, p->name, p->events[k], ENGINE_EVENTS - 1);
    return TUTTI_OK;
}

/* As Python's list.insert, but -1 is the end. */
static tutti_status insert_pass(engine *e, int index, int part, tutti_error *err)
{
    int *grown = realloc(e->passes, (e->npasses + 1) * sizeof *grown);
    if (!grown)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for a pass");
    e->passes = grown;
    const int n = (int)e->npasses;
    int at = index == -1 ? n : index < 0 ? n + index : index;
    at = at < 0 ? 0 : at > n ? n : at;
    memmove(&grown[at + 1], &grown[at], (size_t)(n - at) * sizeof *grown);
    grown[at] = part;
    e->npasses++;
    return TUTTI_OK;
}

/* The event's table with one more handler behind the others, before the loggers.  NULL: out of memory. */
static dispatch_entry *with_handler(const engine *e, const event_slot *slot, uint32_t part)
{
    const participant *p = &e->parts[part];
    const uint32_t n = slot->nalgorithms + slot->nlisteners;
    uint32_t at = n;
    dispatch_entry *grown = malloc((n + 1) * sizeof *grown);
    if (!grown)
        return NULL;
    while (at > slot->nalgorithms && e->parts[slot->entries[at - 1].part].class == CLASS_LOGGER)
        at--;
    if (at)
        memcpy(grown, slot->entries, at * sizeof *grown);
    grown[at] = (dispatch_entry){
        {p->plugin, p->name}, p->calls->match, p->calls->run_event, p->self, part, 0};
    if (n > at)
        memcpy(grown + at + 1, slot->entries + at, (n - at) * sizeof *grown);
    return grown;
}

/* A handler joins a sealed engine, on all of its events or none.  Tables that it replaces stay until the
 * end: dispatch may stand in one. */
static tutti_status insert_sealed(engine *e, uint32_t part, tutti_error *err)
{
    const participant *p = &e->parts[part];
    dispatch_entry *grown[ENGINE_EVENTS] = {NULL};
    void **retired =
        realloc(e->retired.items, (e->retired.count + p->nevents) * sizeof *retired);
    tutti_status s = TUTTI_OK;
    if (retired)
        e->retired.items = retired;
    for (size_t k = 0; k < p->nevents && !s; k++) {
        const event_slot *slot = &e->slots[p->events[k]];
        if (slot->nlisteners >= ENGINE_LISTENERS)
            s = tutti_fail(err, TUTTI_E_RANGE, "%s: more than %d listen to it",
                           engine_event_name(e, p->events[k]), ENGINE_LISTENERS);
        else if (!retired || !(grown[k] = with_handler(e, slot, part)))
            s = tutti_fail(err, TUTTI_E_NOMEM, "no memory for handler %s", p->name);
    }
    for (size_t k = 0; k < p->nevents; k++) {
        event_slot *slot = &e->slots[p->events[k]];
        if (s) {
            free(grown[k]);
            continue;
        }
        e->retired.items[e->retired.count++] = slot->entries;
        slot->entries = grown[k];
        slot->nlisteners++;
        e->listens[p->events[k] >> 6] |= UINT64_C(1) << (p->events[k] & 63);
    }
    engine_set_gates(e);
    return s;
}

tutti_status engine_add_object(engine *e, const participant *p, tutti_error *err)
{
    participant added = *p;
    tutti_status s = class_of(p, &added.class, err);
    if (s == TUTTI_OK && e->sealed && added.class != CLASS_HANDLER)
        s = tutti_fail(err, TUTTI_E_STATE, "%s comes too late: the engine is sealed", p->name);
    if (s == TUTTI_OK)
        s = check_calls(&added, err);
    if (s != TUTTI_OK)
        return s;
    for (size_t k = 0; k < e->nparts; k++)
        if (e->parts[k].class == added.class && strcmp(e->parts[k].name, p->name) == 0)
            return tutti_fail(err, TUTTI_E_EXISTS,
                              "there are two %ss called %s: give one an id", p->kind, p->name);
    if (e->nparts == e->capacity) {
        const size_t capacity = e->capacity ? 2 * e->capacity : 16;
        participant *grown = realloc(e->parts, capacity * sizeof *grown);
        if (!grown)
            return tutti_fail(err, TUTTI_E_NOMEM, "no memory for %s", p->name);
        e->parts = grown;
        e->capacity = capacity;
    }
    if (added.class == CLASS_PASS) {
        s = insert_pass(e, added.pass_index, (int)e->nparts, err);
        if (s != TUTTI_OK)
            return s;
    }
    e->parts[e->nparts++] = added;
    s = e->sealed ? insert_sealed(e, (uint32_t)e->nparts - 1, err) : TUTTI_OK;
    if (s != TUTTI_OK)
        e->nparts--;
    return s;
}

static tutti_status check_exclusive(const engine *e, tutti_error *err)
{
    for (size_t a = 0; a < e->nparts; a++) {
        const char *const *selector = e->parts[a].rules.exclusive;
        for (; selector && *selector; selector++)
            for (size_t b = 0; b < e->nparts; b++)
                if (a != b && rules_select(*selector, &e->parts[b]))
                    return tutti_fail(err, TUTTI_E_STATE,
                                      "%s excludes %s, so they cannot run together (%s)",
                                      e->parts[a].name, e->parts[b].name, e->parts[a].manifest);
    }
    return TUTTI_OK;
}

/* The participants of one class that hear `event`, in list order. */
static tutti_status gather(engine *e, int32_t event, int class, uint32_t *found,
                           uint32_t *ret_n, tutti_error *err)
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < e->nparts; k++) {
        const participant *p = &e->parts[k];
        bool hears = false;
        for (size_t j = 0; j < p->nevents && p->class == class; j++)
            hears = hears || p->events[j] == event;
        if (!hears)
            continue;
        if (n == ENGINE_WIDTH)
            return tutti_fail(err, TUTTI_E_RANGE, "%s: more than %d %ss hear one event",
                              engine_event_name(e, event), ENGINE_WIDTH, p->kind);
        found[n++] = k;
    }
    *ret_n = n;
    return TUTTI_OK;
}

/* Adds a class's participants to the slot.  Callbacks and loggers go in the order of their rules;
 * for algorithms, whose order depends on who matches, the rules are only tried. */
static tutti_status lay_class(engine *e, int32_t event, int class, uint32_t *at,
                              tutti_error *err)
{
    event_slot *slot = &e->slots[event];
    uint32_t found[ENGINE_WIDTH], n = 0;
    uint8_t place[ENGINE_WIDTH];
    const participant *list[ENGINE_WIDTH];
    tutti_status s = gather(e, event, class, found, &n, err);
    if (s != TUTTI_OK || !n)
        return s;
    for (uint32_t k = 0; k < n; k++)
        list[k] = &e->parts[found[k]];
    s = rules_sort(list, n, event, engine_event_name(e, event), place, err);
    if (s != TUTTI_OK)
        return s;
    dispatch_entry *grown = realloc(slot->entries, (*at + n) * sizeof *grown);
    if (!grown)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for event %s",
                          engine_event_name(e, event));
    slot->entries = grown;
    for (uint32_t k = 0; k < n; k++) {
        const uint32_t part = found[class == CLASS_ALGORITHM ? k : place[k]];
        const participant *p = &e->parts[part];
        grown[(*at)++] = (dispatch_entry){
            {p->plugin, p->name}, p->calls->match, p->calls->run_event, p->self, part, 0};
    }
    return TUTTI_OK;
}

static tutti_status lay_event(engine *e, int32_t event, tutti_error *err)
{
    const bool init = event == TUTTI_EVENT_INIT;
    uint32_t n = 0;
    /* At init the loggers come first, so that the others can log. */
    const int classes[] = {init ? CLASS_LOGGER : CLASS_CALLBACK,
                           init ? CLASS_CALLBACK : CLASS_HANDLER,
                           init ? CLASS_HANDLER : CLASS_LOGGER};
    tutti_status s = lay_class(e, event, CLASS_ALGORITHM, &n, err);
    const uint32_t nalgorithms = n;
    for (int k = 0; k < 3 && s == TUTTI_OK; k++)
        s = lay_class(e, event, classes[k], &n, err);
    if (s != TUTTI_OK)
        return s;
    e->slots[event].nalgorithms = nalgorithms;
    e->slots[event].nlisteners = n - nalgorithms;
    if (n)
        e->listens[event >> 6] |= UINT64_C(1) << (event & 63);
    return TUTTI_OK;
}

tutti_status engine_seal(engine *e, tutti_error *err)
{
    if (e->sealed || e->closed)
        return tutti_fail(err, TUTTI_E_STATE, "the engine is already %s",
                          e->closed ? "closed" : "sealed");
    tutti_status s = check_exclusive(e, err);
    if (s == TUTTI_OK && !e->reasons)
        e->reasons = calloc((size_t)ENGINE_WIDTH * CLASS_COUNT, sizeof *e->reasons);
    if (s == TUTTI_OK && !e->reasons)
        s = tutti_fail(err, TUTTI_E_NOMEM, "no memory for the order of the participants");
    for (int32_t event = 0; event < ENGINE_EVENTS && s == TUTTI_OK; event++)
        s = lay_event(e, event, err);
    if (s != TUTTI_OK) {
        memset(e->listens, 0, sizeof e->listens);
        return s;
    }
    e->sealed = true;
    engine_set_gates(e);
    return TUTTI_OK;
}
