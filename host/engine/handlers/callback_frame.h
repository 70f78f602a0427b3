/* callback_frame.h - during which call a callback comes. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_ENGINE_HANDLERS_CALLBACK_FRAME_H
#define HOST_ENGINE_HANDLERS_CALLBACK_FRAME_H

#include "engine/handlers/function.h"

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
/* The innermost one of this thread.  NULL: there is none, and the next callback_frame_pop says so of `fn`. */
callback_frame *callback_frame_current(const bound_function *fn);
/* `fn` ends: nothing more is said of it. */
void callback_frame_forget(const bound_function *fn);

#endif
