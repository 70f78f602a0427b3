/* engine_internal.h - the parts of an engine, for its own files. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_ENGINE_ENGINE_INTERNAL_H
#define HOST_ENGINE_ENGINE_INTERNAL_H

#include "engine/handler_binding.h"
#include "engine/participant.h"
#include "engine/profile/profiler.h"

#include <pthread.h>

enum {
    ENGINE_ORDERS = 64, /* cached orders of one event */
    ENGINE_RING = 1024, /* traces in the ring */
    ENGINE_SINKS = 8,
    ENGINE_LISTENERS = 1024 /* of one event, when handlers join a sealed engine */
};

/* What dispatch touches for one participant at one event, side by side. */
typedef struct dispatch_entry {
    crash_who who; /* the breadcrumb points here while the participant runs */
    int32_t (*match)(void *self, const tutti_event *event);
    tutti_status (*hear)(void *self, const tutti_event *event, tutti_error *err);
    void *self;
    uint32_t part; /* index in parts */
    uint32_t reserved;
} dispatch_entry;

/* The order of one set of matches. */
typedef struct cached_order {
    uint64_t matched;
    uint32_t n;
    uint8_t place[ENGINE_WIDTH];
} cached_order;

typedef struct event_slot {
    dispatch_entry *entries; /* algorithms, then listeners in the order of their turn */
    tutti_event event;       /* what they hear; its step is of the latest run */
    int64_t fires;
    int64_t *attribute; /* of a custom event that has one */
    uint32_t nalgorithms;
    uint32_t nlisteners;
    cached_order *orders;
    uint32_t norders;
    uint32_t capacity;
    uint32_t latest;   /* where the last look-up hit */
    uint32_t replaced; /* replaced next once `orders` is full */
} event_slot;

/* A counter of the state that custom events name. */
typedef struct attribute {
    const char *name;
    int64_t value;
} attribute;

/* A handler that is bound: a participant of its own. */
typedef struct bound {
    engine *engine;
    binding *binding;
    void (*release)(struct bound *b); /* so that engines without handlers need no registry */
    json_doc *doc; /* that the binding was read from, if it is the engine's own; or NULL */
    struct bound *next;
    const char *bound_as; /* the run file's name for it, which several may share */
    uint32_t part;        /* index in parts */
    char name[96];        /* of the participant: no other has it */
} bound;

typedef struct attribute_list {
    attribute *items;
    size_t count;
} attribute_list;

/* Where traces of algorithms go. */
typedef struct trace_sink {
    void (*take)(void *ctx, const tutti_trace *trace);
    void *ctx;
    bool all;
} trace_sink;

typedef struct trace_log {
    tutti_trace *ring; /* the latest ENGINE_RING */
    uint64_t count;    /* ever */
    trace_sink sinks[ENGINE_SINKS];
    int nsinks;
    bool all; /* a sink wants those that did not run, too */
} trace_log;

/* What the engine's owner answers, each of which may be NULL, and has asked for. */
typedef struct engine_hooks {
    tutti_status (*accept)(engine *e, const char *json, tutti_error *err); /* takes a handler */
    registry *registry; /* of accepted handlers */
    void (*watch)(void *ctx, const tutti_event *event);
    void *watch_ctx;
    const int64_t *(*counter)(void *ctx, int32_t event); /* NULL: engine_event_count */
    void *counter_ctx;
    int32_t held; /* one more than the event of engine_hold; 0: none */
} engine_hooks;

/* Tables of entries that dispatch may still stand in; freed with the engine. */
typedef struct retired_entries {
    void **items;
    size_t count;
} retired_entries;

enum { PASS_LIFO = -1, PASS_INTERPOLATION = -2, PASS_RULES = -3, PASS_FIRST = -4 };

struct engine {
    uint64_t gate[ENGINE_EVENTS / 64]; /* run_event has something to do or to refuse */
    uint64_t listens[ENGINE_EVENTS / 64];
    engine_options options;
    engine *next_alive; /* all engines of the process, for its exit */
    pthread_t thread;   /* that made it */
    participant *parts;
    size_t nparts;
    size_t capacity;
    int *passes; /* built-in PASS_*, or the index of a code pass in parts */
    size_t npasses;
    bool sealed;
    bool closed;
    bool debug;
    bool slow; /* not sealed, closed, or every step is told: debug, traces of all, profiler */
    bool warned_interpolation;
    char (*reasons)[192]; /* of the latest engine_order; there once it is sealed */
    struct bound *bound;  /* handlers, a list */
    engine_hooks hooks;
    retired_entries retired;
    attribute_list attributes;
    int depth; /* of events fired inside events */
    profiler *profiler;
    trace_log traces;
    tutti_engine_v1 service;
    event_slot slots[ENGINE_EVENTS];
};

/* order.c: the algorithms of `event` whose bits are in `matched`, in the order in which they run.
 * Cached; *ret is valid until the next call. */
tutti_status engine_find_order(engine *e, int32_t event, uint64_t matched,
                               const cached_order **ret, tutti_error *err);

/* gates.c: from now on the participant matches and hears nothing; cached orders stay valid. */
void engine_disable(engine *e, uint32_t part);
/* Opens and closes gates after debug, traces, profiler or participants changed. */
void engine_set_gates(engine *e);

/* trace.c: to the ring and to every sink that wants it. */
void engine_trace(engine *e, const tutti_trace *trace);

/* event_count.c: names and attributes of custom events. */
tutti_status engine_name_events(engine *e, tutti_error *err);
attribute *engine_find_attribute(engine *e, const char *name); /* NULL when there is none */
/* What filters of `event` count, kept in *own where it is no memory of somebody's; NULL: nothing. */
const int64_t *engine_filter_count(const engine *e, int32_t event, int64_t *own);

/* service.c */
void engine_release_bound(engine *e);
bool engine_has_part(const engine *e, const char *name); /* a handler of this name */

/* close.c */
tutti_status engine_check_open(engine *e, tutti_error *err); /* at INIT */
void engine_note_alive(engine *e);
void engine_note_gone(engine *e);

/* log.c */
TUTTI_PRINTF(4, 5)
void engine_log(const engine *e, int level, const char *component, const char *format, ...);
/* An ENGINE_DEBUG line, headed by the clocks and the event. */
TUTTI_PRINTF(3, 4)
void engine_debug(const engine *e, int32_t event, const char *format, ...);

#endif
