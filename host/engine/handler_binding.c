/* handler_binding.c - event handlers of a run file: read, checked against what manifests declare, called. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/handler_binding.h"
#include "engine/handlers/filter.h"
#include "engine/handlers/function.h"
#include "tutti/metrics.h"
#include "tutti/ranks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ONCE = 4096, MAX_EVENTS = 256 };

typedef struct bound_event {
    int32_t event;
    filter filter;
    int64_t *once;       /* the filter's, owned */
    bound_function test; /* the filter's */
} bound_event;

struct binding {
    const char *name;
    bound_function call; /* or, of the host's own: */
    tutti_status (*own)(void *ctx, int32_t event, tutti_error *err);
    void *own_ctx;
    bound_event *bound;
    size_t nbound;
    int32_t *events; /* each once */
    size_t nevents;
    int on_error;
    int64_t rank; /* the only one that calls it; -1: all do */
};

void binding_free(binding *b)
{
    if (!b)
        return;
    function_fini(&b->call);
    for (size_t k = 0; k < b->nbound; k++) {
        function_fini(&b->bound[k].test);
        free(b->bound[k].once);
    }
    free(b->bound);
    free(b->events);
    free(b);
}

/* ---- filters ---- */

const json_member binding_rows[] = {
    {.name = "on"},
    {.name = "every", .type = MEMBER_INT, .min = 1, .max = INT64_MAX, MEMBER_AT(filter, every)},
    {.name = "before", .type = MEMBER_INT, .max = INT64_MAX, MEMBER_AT(filter, before)},
    {.name = "after", .type = MEMBER_INT, .max = INT64_MAX, MEMBER_AT(filter, after)},
    {.name = "once"},
    {.name = "filter"},
    {.name = NULL},
};

static int32_t ask_test(void *ctx, int64_t count, tutti_error *err)
{
    return function_call(ctx, count, NULL, err);
}

static void read_once(const json_node *once, bound_event *b, faults *f)
{
    static const char want[] = "an integer of at least 1, or a list of them";
    const bool list = json_type(once) == JSON_ARRAY;
    const size_t n = list ? json_count(once) : 1;
    if (n == 0 || n > MAX_ONCE) {
        faults_add(f, once, "has %zu entries, want 1 to %d", n, MAX_ONCE);
        return;
    }
    b->once = calloc(n, sizeof *b->once);
    if (!b->once) {
        faults_add_no_memory(f, once);
        return;
    }
    for (size_t k = 0; k < n; k++) {
        const json_node *one = list ? json_at(once, k) : once;
        b->once[k] = json_int(one) > 0 ? json_int(one) : 1;
        if (json_want(one, JSON_INT, want, f) && json_int(one) < 1)
            faults_add(f, one, "is %lld, want %s", (long long)json_int(one), want);
    }
    b->filter.once = b->once;
    b->filter.nonce = n;
}

static void read_filter(registry *r, const json_node *at, bound_event *b, faults *f)
{
    const json_node *test = json_get(at, "filter"), *once = json_get(at, "once");
    tutti_error e = TUTTI_ERROR_INIT;
    json_members_read(at, binding_rows, &b->filter, f);
    b->filter.has_before = json_get(at, "before") != NULL;
    b->filter.has_after = json_get(at, "after") != NULL;
    if (once)
        read_once(once, b, f);
    if (test) {
        function_read(r, test, true, &b->test, f);
        b->filter.test = ask_test;
    }
    if (filter_check(&b->filter, &e))
        faults_add(f, at, "%s", e.text);
}

/* ---- events ---- */

/* One of "on": a name, whose filter stands beside "on", or an object with a filter of its own. */
static void read_event(registry *r, const json_node *on, const json_node *entry, binding *b,
                       faults *f)
{
    static const json_member event_rows[] = {{.name = "event"}, {.name = NULL}};
    static const json_member *const tables[] = {event_rows, binding_rows, NULL};
    const bool whole = json_type(on) == JSON_OBJECT;
    const json_node *named = whole ? json_get(on, "event") : on;
    bound_event *e = &b->bound[b->nbound++];
    if (whole)
        json_members_known(on, tables, f);
    if (!named || json_type(named) != JSON_STRING) {
        faults_add(f, on, "want the name of an event%s",
                   whole ? " as \"event\"" : ", or an object with one");
        return;
    }
    e->event = registry_event(r, json_string(named));
    if (e->event < 0) {
        faults_add(f, named, "\"%s\" is no event%s", json_string(named),
                   registry_suggest_event(r, json_string(named)).text);
        return;
    }
    size_t k = 0;
    while (k < b->nevents && b->events[k] != e->event)
        k++;
    if (k == b->nevents)
        b->events[b->nevents++] = e->event;
    read_filter(r, whole ? on : entry, e, f);
}

static void read_events(registry *r, const json_node *entry, binding *b, faults *f)
{
    const json_node *on = json_get(entry, "on");
    const bool list = on && json_type(on) == JSON_ARRAY;
    const size_t n = list ? json_count(on) : 1;
    if (!on || n == 0 || n > MAX_EVENTS) {
        faults_add(f, on ? on : entry, "%s",
                   !on      ? "has no \"on\": the event, or a list"
                   : n == 0 ? "is empty, want an event"
                            : "has too many events");
        return;
    }
    b->bound = calloc(n, sizeof *b->bound);
    b->events = calloc(n, sizeof *b->events);
    if (!b->bound || !b->events) {
        faults_add_no_memory(f, on);
        return;
    }
    for (size_t k = 0; k < n; k++)
        read_event(r, list ? json_at(on, k) : on, entry, b, f);
}

/* Hears every firing of one event. */
static void hear_all(binding *b, int32_t event, const json_node *at, faults *f)
{
    b->bound = calloc(1, sizeof *b->bound);
    b->events = calloc(1, sizeof *b->events);
    if (!b->bound || !b->events) {
        faults_add_no_memory(f, at);
        return;
    }
    b->nbound = b->nevents = 1;
    b->bound[0].event = b->events[0] = event;
}

static const char *const on_errors[] = {[ON_ERROR_STOP] = "stop",
                                        [ON_ERROR_DISABLE] = "disable",
                                        [ON_ERROR_IGNORE] = "ignore",
                                        NULL};

/* What a handler's entry has beside the keys of binding_rows and function_rows. */
static const json_member handler_rows[] = {
    {.name = "id", .type = MEMBER_STRING, MEMBER_AT(binding, name)},
    {.name = "on_error",
     .type = MEMBER_CHOICE,
     .words = on_errors,
     MEMBER_AT(binding, on_error)},
    {.name = "rank", .type = MEMBER_INT, .max = INT32_MAX, MEMBER_AT(binding, rank)},
    {.name = NULL},
};

static binding *binding_alloc(const json_node *node, faults *f)
{
    binding *b = calloc(1, sizeof *b);
    if (b)
        b->rank = -1;
    else
        faults_add_no_memory(f, node);
    return b;
}

binding *binding_read(registry *r, const json_node *node, faults *f)
{
    static const json_member *const tables[] = {function_rows, handler_rows, binding_rows,
                                                NULL};
    const size_t before = faults_count(f);
    if (!json_want(node, JSON_OBJECT, "an object with \"on\" and \"call\"", f))
        return NULL;
    binding *b = binding_alloc(node, f);
    if (!b)
        return NULL;
    json_members_known(node, tables, f);
    read_events(r, node, b, f);
    b->name = json_string(json_get(node, "call"));
    json_members_read(node, handler_rows, b, f);
    function_read(r, node, false, &b->call, f);
    if (faults_count(f) == before)
        return b;
    binding_free(b);
    return NULL;
}

binding *binding_read_own(registry *r, const json_node *node, int32_t fallback, faults *f)
{
    const size_t before = faults_count(f);
    binding *b = binding_alloc(node, f);
    if (!b)
        return NULL;
    if (json_get(node, "on")) {
        read_events(r, node, b, f);
    } else {
        hear_all(b, fallback, node, f);
        if (b->nbound)
            read_filter(r, node, &b->bound[0], f);
    }
    if (faults_count(f) == before)
        return b;
    binding_free(b);
    return NULL;
}

void binding_own(binding *b, const char *name,
                 tutti_status (*call)(void *ctx, int32_t event, tutti_error *err), void *ctx)
{
    b->name = name;
    b->own = call;
    b->own_ctx = ctx;
}

void bindings_read(registry *r, const json_node *list, binding_list *ret_list, faults *f)
{
    ret_list->items =
        json_array_alloc(list, sizeof(binding *), "an array of handlers", &ret_list->count, f);
    for (size_t k = 0; k < ret_list->count; k++)
        ret_list->items[k] = binding_read(r, json_at(list, k), f);
}

void bindings_free(binding_list *list)
{
    for (size_t k = 0; k < list->count; k++)
        binding_free(list->items[k]);
    free(list->items);
}

/* ---- use ---- */

const char *binding_name(const binding *b)
{
    return b->name;
}

const char *binding_plugin(const binding *b)
{
    return b->own ? "tutti" : b->call.info.plugin_id;
}

const char *binding_manifest(const binding *b)
{
    return b->own ? "tutti" : b->call.info.manifest;
}

bool binding_is_own(const binding *b)
{
    return b->own != NULL;
}

int binding_on_error(const binding *b)
{
    return b->on_error;
}

bool binding_is_of_one_rank(const binding *b)
{
    return b->rank >= 0;
}

const int32_t *binding_events(const binding *b, size_t *ret_count)
{
    *ret_count = b->nevents;
    return b->events;
}

/* This rank, of so many; one where the host has no ranks. */
static int32_t find_rank(const tutti_engine_v1 *engine_table, int32_t *ret_size)
{
    const tutti_ranks_v1 *ranks = engine_table->query(engine_table->ctx, TUTTI_RANKS_V1);
    *ret_size = ranks ? ranks->size(ranks->ctx) : 1;
    return ranks ? ranks->rank(ranks->ctx) : 0;
}

static tutti_status check_rank(const binding *b, const tutti_engine_v1 *engine_table,
                               tutti_error *err)
{
    int32_t size = 1;
    if (b->rank >= 0)
        (void)find_rank(engine_table, &size);
    return b->rank < size
               ? TUTTI_OK
               : tutti_fail(err, TUTTI_E_ARG,
                            "handler %s is for rank %lld, and the run has %d: from 0 to %d",
                            b->name, (long long)b->rank, size, size - 1);
}

tutti_status binding_open(binding *b, const tutti_engine_v1 *engine_table, tutti_error *err)
{
    tutti_status s = check_rank(b, engine_table, err);
    if (!s && !b->own)
        s = function_open(&b->call, engine_table, err);
    for (size_t k = 0; k < b->nbound && s == TUTTI_OK; k++) {
        bound_event *e = &b->bound[k];
        e->filter.ctx = &e->test;
        if (e->test.handler)
            s = function_open(&e->test, engine_table, err);
    }
    return s;
}

int32_t binding_filtered(const binding *b, size_t k)
{
    for (size_t j = 0; j < b->nbound; j++)
        if (filter_is_set(&b->bound[j].filter) && k-- == 0)
            return b->bound[j].event;
    return -1;
}

/* 1 or 0, or a negative status. */
static int32_t passes(bound_event *e, const tutti_engine_v1 *engine_table, const int64_t *count,
                      tutti_error *err)
{
    if (!filter_is_set(&e->filter))
        return 1;
    if (!count)
        return tutti_fail(err, TUTTI_E_STATE, "it has a filter, but the event counts nothing");
    e->test.engine = engine_table;
    return filter_passes(&e->filter, *count, err);
}

/* What a handler returns is a metric of its name. */
static void log_value(const binding *b, const tutti_engine_v1 *engine_table, double value)
{
    const tutti_metrics_v1 *metrics = engine_table->query(engine_table->ctx, TUTTI_METRICS_V1);
    const tutti_named_value one = {b->name, value};
    if (metrics)
        metrics->log(metrics->ctx, &one, 1);
}

tutti_status binding_call(binding *b, const tutti_engine_v1 *engine_table, int32_t event,
                          const int64_t *count, tutti_error *err)
{
    int32_t size;
    if (b->rank >= 0 && b->rank != find_rank(engine_table, &size))
        return TUTTI_OK;
    for (size_t k = 0; k < b->nbound; k++) {
        if (b->bound[k].event != event)
            continue;
        const int32_t pass = passes(&b->bound[k], engine_table, count, err);
        if (pass < 0)
            return pass;
        if (pass == 0)
            continue;
        b->call.engine = engine_table;
        double value = (double)NAN;
        const tutti_status s = b->own
                                   ? b->own(b->own_ctx, event, err)
                                   : function_call(&b->call, count ? *count : 0, &value, err);
        if (!s && !isnan(value))
            log_value(b, engine_table, value);
        if (s)
            return s;
    }
    return TUTTI_OK;
}
