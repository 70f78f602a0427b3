/* engine.h - the dispatcher: who hears an event, in which order, and what came of it. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_ENGINE_ENGINE_H
#define HOST_ENGINE_ENGINE_H

#include "plugin/instance.h"
#include "tutti/engine.h"
#include "tutti/logger.h"
#include "tutti/tutti.h"

#include <stdbool.h>

typedef struct engine engine;   /* opaque */
typedef struct binding binding; /* engine/handler_binding.h */

/* Clocks that events carry; borrowed for the engine's life. */
typedef struct engine_options {
    const tutti_timestamp *time;
    const tutti_timestamp *eval_time;
    /* Each algorithm that ran at an event, after it: engine_trace_to without `all`.  May be NULL. */
    void (*trace)(void *ctx, const tutti_trace *trace);
    /* Warnings and errors (disabled plugins, failing close), and ENGINE_DEBUG lines.  May be NULL. */
    void (*log)(void *ctx, int level, const char *component, const char *text);
    void *ctx;
    /* Events of manifests: registry_events.  Borrowed for the engine's life. */
    const custom_event *events;
    size_t nevents;
    /* Services for handlers ("tutti.state/1"); gets ctx.  May be NULL. */
    const void *(*query)(void *ctx, const char *interface_id);
    /* A handler is bound that one rank alone calls; gets ctx.  May be NULL. */
    void (*one_rank)(void *ctx);
    /* Rules first, then lifo, as upstream: on after_* events what a rule puts first then comes last. */
    bool upstream_order;
} engine_options;

TUTTI_NODISCARD tutti_status engine_create(const engine_options *options, engine **ret_engine,
                                           tutti_error *err);
/* Closes if need be; an engine that is still there when the process exits is closed then.  Instances
 * stay the caller's.  NULL is allowed. */
void engine_destroy(engine *e);

/* Adds a participant (algorithm, callback, logger or pass) in list order; kind, events, tags, order
 * rules and on_error come from its manifest, events as far as its settings let it hear them.  A pass counts on its events, or on all when it names
 * none; its manifest's index, or its setting `index`, is its place among the passes: lifo,
 * loss interpolation, rules; -1 (default) comes after them.  Rules select by name of object or
 * instance, or "tag:x", and are reversed on the events of reverse_on.  Before seal.  [control]
 * Errors: E_EXISTS the kind has one of this name; E_ARG a call that its kind needs is NULL. */
TUTTI_NODISCARD tutti_status engine_add(engine *e, instance *i, tutti_error *err);

/* Binds a handler of the run file, which hears its events after the callbacks and before the loggers,
 * in the order in which handlers are bound.  The binding becomes the engine's on success.  Loads the
 * plugin that declares its function.  After seal it hears an event under way too.  [control] */
TUTTI_NODISCARD tutti_status engine_bind(engine *e, binding *b, tutti_error *err);

/* From now on plugins may bind handlers through tutti.engine/1, whose functions are of `r`.  [control] */
void engine_accept_handlers(engine *e, registry *r);

/* From now on `take` gets the trace of each algorithm that ran at an event, after it; with `all` those
 * that did not match too, before any is applied.  At most 8 sinks.  [control] */
TUTTI_NODISCARD tutti_status engine_trace_to(engine *e,
                                             void (*take)(void *ctx, const tutti_trace *trace),
                                             void *ctx, bool all, tutti_error *err);
/* The latest traces, oldest first: at most `capacity` of the 1024 that are kept.  Returns how many are
 * written.  Their texts live as long as the engine. */
size_t engine_traces(const engine *e, tutti_trace *ret_traces, size_t capacity);

/* From now on `watch` sees every event that is run, heard or not, before anybody else.  NULL ends it.
 * [control] */
void engine_watch(engine *e, void (*watch)(void *ctx, const tutti_event *event), void *ctx);

/* Puts spans of events, algorithms, callbacks and handlers on the profiler's time line; NULL ends it.
 * The profiler stays the caller's.  [control] */
typedef struct profiler profiler; /* engine/profile/profiler.h */
void engine_profile(engine *e, profiler *p);

/* Checks the rules (exclusive, circles: their edges and files) and fixes the orders.  Errors name the
 * participants.  [control] */
TUTTI_NODISCARD tutti_status engine_seal(engine *e, tutti_error *err);

/* Runs an event: INIT loggers, callbacks, algorithms; all others algorithms, callbacks, loggers.  All
 * matches come before any apply.  The first error of a participant whose on_error is "stop" is
 * returned, headed by its name and the event.  E_STATE after close.  [step] */
TUTTI_NODISCARD tutti_status engine_run_event(engine *e, int32_t event, tutti_error *err);

/* The k-th participant, in the order of engine_add; NULL in *ret_instance: it is no plugin's.  False past the last. */
bool engine_instance(const engine *e, size_t k, const instance **ret_instance);

/* Whether the k-th participant, in the order of engine_add, has heard INIT, or does not listen to it. */
bool engine_has_begun(const engine *e, size_t k);

/* Starts or ends the span of `event` alone: nobody hears it.  For a data loader that is asked and has
 * no more.  E_STATE after close.  [step] */
TUTTI_NODISCARD tutti_status engine_run_marker_only_event(engine *e, int32_t event,
                                                          tutti_error *err);

/* Runs an event for the algorithms alone: neither callbacks, handlers and loggers nor watchers hear it.  For who
 * wants to know what algorithms make of a model, without a run.  E_STATE after close.  [step] */
TUTTI_NODISCARD tutti_status engine_run_algorithms(engine *e, int32_t event, tutti_error *err);

/* Runs an event of a training loop together with the Ignite event at the same point, which comes inside:
 * after fit_start started, before batch_end iteration_completed and so on.  [step] */
TUTTI_NODISCARD tutti_status engine_run_train_event(engine *e, int32_t event, tutti_error *err);

/* Handlers of `event` that come behind an evaluation of the same event wait, as long as it is not done: from now on none but
 * evaluations (binding_own) hear the event, or the one of a training loop around it (engine_run_train_event).  -1: all do
 * again.  [step] */
void engine_hold(engine *e, int32_t event);
/* The event of engine_hold; -1: none. */
int32_t engine_held(const engine *e);
/* Those that have waited hear the event of engine_hold, which ends.  Errors: as engine_run_event.  [step] */
TUTTI_NODISCARD tutti_status engine_run_held(engine *e, tutti_error *err);

/* What the filters of handlers count at `event`: the iteration, the epoch, a custom event's attribute,
 * else how often it has been run while somebody listened. */
int64_t engine_event_count(const engine *e, int32_t event);

/* From now on the filters of handlers count what `counter` gives for an event: a number that the
 * caller keeps, or NULL where the event counts nothing and a filter on it is an error.  For loops with
 * clocks of their own.  NULL: engine_event_count.  [control] */
void engine_count_by(engine *e, const int64_t *(*counter)(void *ctx, int32_t event), void *ctx);
/* The attribute that a custom event counts; NULL when it has none. */
int64_t *engine_event_attribute(engine *e, int32_t event);
/* Events are numbered from 0 to one less; not each number is one. */
int32_t engine_events(const engine *e);
/* What filters count of an event that comes more than once in a run and that no clock counts, for checkpoints: how often it
 * was fired, or its attribute.  NULL: another event. */
int64_t *engine_own_count(engine *e, int32_t event);

/* tutti.engine/1 of this engine; lives as long as it. */
const tutti_engine_v1 *engine_service(engine *e);

/* Whether ENGINE_DEBUG asks for a line about each step. */
bool engine_is_debugged(const engine *e);

/* Whether anyone listens to `event`: one load and one mask. */
bool engine_listens(const engine *e, int32_t event);

/* Whether engine_run_train_event would do anything: somebody listens to `event` or to Ignite's at the
 * same point, or every event is told to a watch, a profiler or ENGINE_DEBUG. */
bool engine_hears(const engine *e, int32_t event);

/* close on every callback and logger in list order, then post_close on those that closed well,
 * then algorithms and passes likewise; errors are logged and swallowed.  Idempotent.  [control] */
void engine_close(engine *e);

/* The order at `event` if every subscriber matched: participants in turn, each with the reason of its
 * place ("list order", "first: its manifest", "reversed: after_* events run last in, first out").
 * Reasons are borrowed until the next call.  *ret_count says how many there are, of which `capacity` are
 * written.  Errors: those of passes, as in engine_run_event.  After seal. */
typedef struct engine_place {
    const char *name;
    const char *kind;
    const char *reason;
} engine_place;
TUTTI_NODISCARD tutti_status engine_order(engine *e, int32_t event, engine_place *places,
                                          size_t capacity, size_t *ret_count, tutti_error *err);

/* The k-th pass in order: a built-in one's description or the name of a plugin's; NULL past the last. */
const char *engine_pass_name(const engine *e, size_t k);

/* The engine's events, custom ones included: number by name in any case (-1 when unknown), and name. */
int32_t engine_find_event(const engine *e, const char *name);
const char *engine_event_name(const engine *e, int32_t event);

/* Names of the built-in events: upper or lower case, or the value; -1 when unknown. */
int32_t event_find(const char *name);
const char *event_name(int32_t event);      /* "before_loss" */
const char *event_canonical(int32_t event); /* "loss" */
int event_side(int32_t event);              /* -1 before, +1 after, 0 neither */
int32_t
event_counterpart(int32_t event); /* Composer's counterpart of an Ignite event; -1: none */

#endif
