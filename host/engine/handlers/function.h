/* function.h - a function that a manifest declares, with the arguments that a run file gives it. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_ENGINE_HANDLERS_FUNCTION_H
#define HOST_ENGINE_HANDLERS_FUNCTION_H

#include "base/json_members.h"
#include "engine/handlers/argument.h"
#include "plugin/instance.h"
#include "tutti/engine.h"

/* All zeros before function_read.  Stays where it is: arguments and crash reports point into it. */
typedef struct bound_function {
    const char *name; /* as the run file calls it, borrowed from its document: "demo.note" */
    crash_who who;    /* its plugin and `name` */
    const handler *handler;
    handler_info info;
    void **args; /* where each argument lies; NULL: a callback's caller gives it */
    argument_memory *memory;
    callback *callbacks;
    const tutti_engine_v1 *engine; /* for calls of functions that declare it */
} bound_function;

/* Members of an object that calls a function: "call", its name, and "args". */
extern const json_member function_rows[];

/* Finds the function that `at` calls, a name or such an object, and reads its arguments: a list, or an object by name.
 * Further members of the object are the caller's.  Everything wrong goes to `f`.  [control] */
void function_read(registry *r, const json_node *at, bool is_filter, bound_function *fn,
                   faults *f);
void function_fini(bound_function *fn);

/* Loads its plugin, and those of its callbacks, once `engine` offers what they require.  [control] */
TUTTI_NODISCARD tutti_status function_open(bound_function *fn, const tutti_engine_v1 *engine,
                                           tutti_error *err);

/* function_call.c: calls it, named in the report of a crash meanwhile.  After function_open.  [step]
 * Returns TUTTI_OK or a negative status; of a filter 1, 0 or a negative status.  A failure without a
 * text gets one.  A positive result of a function that is no filter is no status: E_FAIL.
 * *ret_value (may be NULL) is the number that the manifest says it gives, NaN where that is none. */
int32_t function_call(const bound_function *fn, int64_t count, double *ret_value,
                      tutti_error *err);
/* The same with arguments of a callback's; `ret_result` is of the result's size and of at least a word. */
TUTTI_NODISCARD tutti_status function_call_back(const bound_function *fn, void *const *args,
                                                void *ret_result, tutti_error *err);

#endif
