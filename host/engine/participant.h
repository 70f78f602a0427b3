/* participant.h - inside the engine: who takes part, and what it keeps about them. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_ENGINE_PARTICIPANT_H
#define HOST_ENGINE_PARTICIPANT_H

#include "engine/binding.h"
#include "engine/engine.h"
#include "engine/profiler.h"

#include <pthread.h>

enum {
    ENGINE_EVENTS = 256, /* built-in and custom ones */
    ENGINE_WIDTH = 64,   /* algorithms at one event: one bit each */
    ENGINE_ORDERS = 64,  /* kept orders of one event */
    ENGINE_RING = 1024,  /* traces that are kept */
    ENGINE_SINKS = 8,
    ENGINE_LATE = 1024 /* listeners of one event, when handlers join a sealed engine */
};

typedef struct trace_sink {
    void (*take)(void *ctx, const tutti_trace *trace);
    void *ctx;
    bool all;
} trace_sink;

/* The "order" rules of a manifest.  The lists are NULL-terminated selectors, an object's or instance's
 * name or "tag:x"; NULL means none. */
typedef struct order_rules {
    bool first;
    bool last;
    const char *const *before;
    const char *const *after;
    const char *const *exclusive;
    uint64_t reverse_on[ENGINE_EVENTS / 64]; /* events at which the rules are turned round */
} order_rules;

enum { CLASS_ALGORITHM, CLASS_CALLBACK, CLASS_LOGGER, CLASS_PASS, CLASS_HANDLER, CLASS_COUNT };
#define KIND_HANDLER "handler" /* a bound function; no object of a plugin has this kind */

/* One participant; all texts and lists are borrowed for the engine's life. */
typedef struct participant {
    const char *name;     /* of the instance */
    const char *object;   /* name of its object */
    const char *kind;     /* TUTTI_KIND_* of a participant */
    const char *plugin;   /* id */
    const char *manifest; /* path */
    const tutti_calls *calls;
    void *self;
    const int32_t *events;
    size_t nevents;
    const char *const *tags; /* NULL-terminated, or NULL */
    order_rules rules;
    int on_error;   /* ON_ERROR_* */
    int pass_index; /* of a pass: its place among the passes, -1 for the end */
    bool interpolates_loss;
    /* How it ends: NULL means calls->close and calls->post_close. */
    tutti_status (*close)(void *owner, tutti_error *err);
    tutti_status (*post_close)(void *owner, tutti_error *err);
    void *owner;
    void *memory; /* freed with the engine */
    /* The engine's own. */
    int class;
    bool disabled;
    bool closed;
    bool begun; /* has heard INIT */
} participant;

/* engine_add, without a registry: `p` is copied, and its `memory` becomes the engine's on success. */
TUTTI_NODISCARD tutti_status engine_add_object(engine *e, const participant *p,
                                               tutti_error *err);

/* What dispatch touches for one participant at one event, side by side. */
typedef struct hot {
    crash_who who; /* the breadcrumb points here while the participant runs */
    int32_t (*match)(void *self, const tutti_event *event);
    tutti_status (*hear)(void *self, const tutti_event *event, tutti_error *err);
    void *self;
    uint32_t part; /* index in parts */
    uint32_t reserved;
} hot;

/* The order of one set of matches. */
typedef struct kept_order {
    uint64_t matched;
    uint32_t n;
    uint8_t place[ENGINE_WIDTH];
} kept_order;

typedef struct event_slot {
    hot *hot;          /* algorithms, then listeners in the order of their turn */
    tutti_event event; /* what they hear; its step is of the latest run */
    int64_t fires;
    int64_t *attribute; /* of a custom event that has one */
    uint32_t nalgorithms;
    uint32_t nlisteners;
    kept_order *orders;
    uint32_t norders;
    uint32_t room;
    uint32_t latest; /* where the last look-up hit */
    uint32_t victim; /* replaced next once `orders` is full */
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

enum { PASS_LIFO = -1, PASS_INTERPOLATION = -2, PASS_RULES = -3 };

struct engine {
    uint64_t gate[ENGINE_EVENTS / 64]; /* run_event has something to do or to refuse */
    uint64_t listens[ENGINE_EVENTS / 64];
    engine_options options;
    engine *next_alive; /* all engines of the process, for its exit */
    pthread_t thread;   /* that made it */
    participant *parts;
    size_t nparts;
    size_t room;
    int *passes; /* built-in PASS_*, or the index of a code pass in parts */
    size_t npasses;
    bool sealed;
    bool closed;
    bool debug;
    bool slow; /* not sealed, closed, or every step is told: debug, traces of all, profiler */
    bool warned_interpolation;
    char (*reasons)[192]; /* of the latest engine_order */
    struct bound *bound;  /* handlers, a list */
    tutti_status (*accept)(engine *e, const char *json,
                           tutti_error *err); /* a handler; or NULL */
    registry *registry;                       /* of accepted handlers */
    void **retired;                           /* tables that dispatch may still stand in */
    size_t nretired;
    attribute *attributes;
    size_t nattributes;
    int depth; /* of events fired inside events */
    profiler *profiler;
    void (*watch)(void *ctx, const tutti_event *event);
    void *watch_ctx;
    const int64_t *(*counter)(void *ctx, int32_t event); /* NULL: engine_event_count */
    void *counter_ctx;
    tutti_trace *ring; /* the latest ENGINE_RING traces */
    uint64_t ntraces;  /* ever */
    trace_sink sinks[ENGINE_SINKS];
    int nsinks;
    bool traces_all; /* a sink wants those that did not run, too */
    tutti_engine_v1 service;
    event_slot slots[ENGINE_EVENTS];
};

/* order.c: the algorithms of `event` whose bits are in `matched`, in the order in which they run.
 * Cached; *ret is valid until the next call. */
tutti_status engine_find_order(engine *e, int32_t event, uint64_t matched,
                               const kept_order **ret, tutti_error *err);

/* rules.c: sorts `list` (n participants in their present order, at most ENGINE_WIDTH) by the absolute
 * rules and the manifests'; place[k] is the index of the k-th to run.  E_STATE: the rules go round
 * in a circle, with its edges. */
tutti_status rules_sort(const participant *const *list, uint32_t n, int32_t event,
                        const char *event_text, uint8_t *place, tutti_error *err);
/* Which rule holds list[k] where it is; false when none does. */
bool rules_reason(const participant *const *list, uint32_t n, uint32_t k, int32_t event,
                  char *text, size_t size);
/* Whether `selector` means `p`. */
bool rules_select(const char *selector, const participant *p);

/* gates.c: from now on the participant matches and hears nothing; kept orders stay valid. */
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
