/* handler_binding.h - handlers of a run file: the declared function, its arguments, and when it is called. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_ENGINE_HANDLER_BINDING_H
#define HOST_ENGINE_HANDLER_BINDING_H

#include "base/json_members.h"
#include "engine/engine.h"

/* Reads one entry of a run file's "handlers":
 *     {"on": "iteration_completed", "every": 100, "call": "demo.note", "args": ["loss", 0.5]}
 * "on" is an event or a list of events, each a name or {"event": name, its own filter}; the filter is
 * "every", "before", "after", or "once" (a number or a list), or "filter" (a declared function, or
 * {"call": ..., "args": ...}).  "args" is a list, or an object by the names of the arguments.  "id"
 * is the handler's name (else its function's), "on_error" is stop, disable or ignore, "rank" the only rank that calls it.
 * Everything wrong goes to `f`; then the result is NULL.  The caller frees it.  [control] */
binding *binding_read(registry *r, const json_node *node, faults *f);
void binding_free(binding *b); /* NULL is allowed */

/* The keys that say when something is called: "on" and the filters.  binding_read_own reads them. */
extern const json_member binding_rows[];

/* The same for a function of the host: reads "on" (`fallback` where there is none) and the filters of
 * `node`, whose other keys are the caller's.  Calls nothing before binding_own. */
binding *binding_read_own(registry *r, const json_node *node, int32_t fallback, faults *f);
/* What it is called, a text that outlives it, and what it calls. */
void binding_own(binding *b, const char *name,
                 tutti_status (*call)(void *ctx, int32_t event, tutti_error *err), void *ctx);

/* The whole list "handlers"; whoever binds one sets its place to NULL.  [control] */
typedef struct binding_list {
    binding **items;
    size_t count;
} binding_list;
void bindings_read(registry *r, const json_node *list, binding_list *ret_list, faults *f);
void bindings_free(binding_list *list);

/* "demo.note" or its id; the plugin's id; the file that declares it. */
const char *binding_name(const binding *b);
const char *binding_plugin(const binding *b);
const char *binding_manifest(const binding *b);
bool binding_is_own(const binding *b); /* binding_own was called */
bool binding_is_of_one_rank(const binding *b);
int binding_on_error(const binding *b); /* ON_ERROR_* */
const int32_t *binding_events(const binding *b, size_t *ret_count);

/* Loads the functions, once `engine_table` offers what their plugins require.  [control] */
TUTTI_NODISCARD tutti_status binding_open(binding *b, const tutti_engine_v1 *engine_table,
                                          tutti_error *err);

/* The event of the k-th filter; -1 past the last. */
int32_t binding_filtered(const binding *b, size_t k);

/* Calls the function if the filters of `event` let it pass at this count: once for each time that
 * the event is listed.  `count` is NULL where the event counts nothing.  `engine_table` is for
 * functions that declare it.  [step]
 * Errors: the function's; E_STATE a filter where nothing is counted. */
tutti_status binding_call(binding *b, const tutti_engine_v1 *engine_table, int32_t event,
                          const int64_t *count, tutti_error *err);

#endif
