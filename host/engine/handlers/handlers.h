/* handlers.h - lists of functions that hear events, in the order in which they were added. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_ENGINE_HANDLERS_HANDLERS_H
#define HOST_ENGINE_HANDLERS_HANDLERS_H

#include "engine/handlers/filter.h"

typedef struct handlers handlers; /* opaque */

enum { HANDLERS_EVENTS = 256 }; /* event numbers are below it */

/* A handler; `firing` is whatever the caller of handlers_fire hands on.  Any status but OK ends the
 * firing, as `on_error` says. */
typedef tutti_status (*handler_fn)(void *ctx, const void *firing, tutti_error *err);

/* One event of a list, with its own filter (all zeros: hears every firing). */
typedef struct heard {
    int32_t event;
    filter filter;
} heard;

enum {
    HANDLER_STOP,    /* the error is the firing's, siblings are not called */
    HANDLER_DISABLE, /* the handler is removed, the firing goes on */
    HANDLER_IGNORE   /* the firing goes on */
};

TUTTI_NODISCARD tutti_status handlers_create(handlers **ret_handlers, tutti_error *err);
void handlers_destroy(handlers *h); /* NULL is allowed */

/* Adds `fn` with `ctx` to the `n` events at `events`: to all of them or to none.  An event that is
 * listed twice is heard twice.  The filters' lists are copied; their functions' ctx is borrowed.
 * *ret_handle (may be NULL) is never 0.  A handler that is added to an event under way is heard in
 * the same firing.  [step]
 * Errors: E_ARG no events, a number that is no event, a filter that filter_check refuses. */
TUTTI_NODISCARD tutti_status handlers_add(handlers *h, const heard *events, size_t n,
                                          handler_fn fn, void *ctx, int on_error,
                                          uint64_t *ret_handle, tutti_error *err);

/* Removes what one handlers_add added, and nothing else; false when it is gone already.  From its
 * return on the handler is not called, not even by a firing under way.  [step] */
bool handlers_remove(handlers *h, uint64_t handle);

/* Removes every registration of `fn` with `ctx` on `event`; how many there were. */
size_t handlers_remove_all(handlers *h, int32_t event, handler_fn fn, const void *ctx);

/* Whether `fn` with `ctx` hears `event`; -1: any event. */
bool handlers_has(const handlers *h, int32_t event, handler_fn fn, const void *ctx);

/* How many registrations `event` has. */
size_t handlers_count(const handlers *h, int32_t event);

/* Calls those whose filters pass at `count`, in order.  `counts` is NULL where the event counts nothing:
 * then a filter is an error.  [step]
 * Errors: the first of a handler that stops, or of a filter's function; E_STATE as said. */
tutti_status handlers_fire(handlers *h, int32_t event, const int64_t *counts,
                           const void *firing, tutti_error *err);

#endif
