/* callback.h - functions that a run file gives to functions of C, which call them back. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_ENGINE_HANDLERS_CALLBACK_H
#define HOST_ENGINE_HANDLERS_CALLBACK_H

#include "engine/handlers/argument.h"
#include "tutti/engine.h"

/* Reads the name of a declared function, or {"call": name, "args": ...}, into the pointer to a function at `to`; null
 * is none.  Arguments that "args" does not give are the first of the callback's, in order; the function must take
 * and return what the callback's type says.  What is made stands in *r->callbacks. */
void callback_read(const argument_reader *r, const json_node *at, const ctype *type,
                   const char *name, void *to);
void callbacks_free(callback *list); /* NULL is allowed */

/* As function_open, for each. */
TUTTI_NODISCARD tutti_status callbacks_open(callback *list, const tutti_engine_v1 *engine,
                                            tutti_error *err);

/* The call of a function during which callbacks may come, on its thread; calls nest.  Where a callback fails, it
 * answers 0 from then on, and the call has failed. */
typedef struct callback_frame callback_frame;
struct callback_frame {
    callback_frame *outer;
    const tutti_engine_v1 *engine;
    tutti_error error;
};
void callback_frame_push(callback_frame *frame, const tutti_engine_v1 *engine);
/* Error: that of the first callback that failed, or of one that came on another thread or between calls. */
TUTTI_NODISCARD tutti_status callback_frame_pop(callback_frame *frame, tutti_error *err);

#endif
