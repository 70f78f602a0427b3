/* callback_frame.c - during which call a callback comes. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/handlers/callback_frame.h"

#include <stdatomic.h>

static _Thread_local callback_frame *innermost;
/* Called where no function of a run file was running; told by the next one that is. */
static _Atomic(const bound_function *) stray;

void callback_frame_push(callback_frame *frame, const tutti_engine_v1 *engine)
{
    *frame = (callback_frame){.outer = innermost, .engine = engine, .error = TUTTI_ERROR_INIT};
    innermost = frame;
}

tutti_status callback_frame_pop(callback_frame *frame, tutti_error *err)
{
    innermost = frame->outer;
    const bound_function *lost = atomic_exchange(&stray, NULL);
    if (!frame->error.status && !lost)
        return TUTTI_OK;
    if (err)
        err->status = TUTTI_OK; /* the function failed because its callback had */
    if (frame->error.status)
        return tutti_fail(err, frame->error.status, "%s", frame->error.text);
    return tutti_fail(
        err, TUTTI_E_STATE,
        "the callback %s was called on a thread of its caller's or between calls, want calls "
        "during a function of the run file, on its thread",
        lost->name);
}

callback_frame *callback_frame_current(const bound_function *fn)
{
    if (!innermost)
        atomic_store(&stray, fn);
    return innermost;
}

void callback_frame_forget(const bound_function *fn)
{
    (void)atomic_compare_exchange_strong(&stray, &fn, NULL);
}
