/* engine.h - tutti.engine/1: the engine under way: custom events, their counters, handlers. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TUTTI_ENGINE_H
#define TUTTI_ENGINE_H

#include "tutti.h"

TUTTI_C_BEGIN

#define TUTTI_ENGINE_V1 "tutti.engine/1"

typedef struct tutti_engine_v1 {
    uint32_t struct_size;
    uint32_t reserved;
    void *ctx;
    /* The event of this name in any case, built in or of a manifest; -1 when there is none.  [any] */
    int32_t (*find)(void *ctx, const char *name);
    /* Runs a custom event now, inside the present one: all who hear it have heard it on return.
     * E_ARG for the engine's own events; E_STATE when it goes round in itself.  [step] */
    tutti_status (*fire)(void *ctx, int32_t event, tutti_error *err);
    /* The innermost event under way, or NULL outside of all.  [step] */
    const tutti_event *(*now)(void *ctx);
    /* The state attribute that a manifest gives its events: theirs to count, 0 at first, what the
     * filters of handlers count.  Lives as long as the engine; NULL when no event has it.  [step] */
    int64_t *(*attribute)(void *ctx, const char *name);
    /* Any other service of this run ("tutti.state/1"), as tutti_host.query.  [any] */
    const void *(*query)(void *ctx, const char *interface_id);
    /* Whether a handler of this name ("demo.note", or its id) is bound and not removed.  Removing
     * means that none of this name is called again, and returns whether there was one.  Where the
     * run file binds one function several times, "demo.note#2" is the second one alone.  [step] */
    int32_t (*has_handler)(void *ctx, const char *name);
    int32_t (*remove_handler)(void *ctx, const char *name);
    /* Binds a handler: `json` is an entry of a run file's "handlers", {"on": "epoch_completed",
     * "every": 2, "call": "demo.note", "args": ["loss", 0.5], "id": "mine"}.  It hears its events
     * behind the handlers that are there, the one under way too.  [step]
     * Errors: E_ARG what is wrong with it; E_RANGE too many handlers hear the event; those of
     * loading its plugin. */
    tutti_status (*add_handler)(void *ctx, const char *json, tutti_error *err);
} tutti_engine_v1;

/* A function that a manifest lists under "handlers" is
 *     tutti_status f(args..., tutti_error *err)
 * with its declared arguments: i8 to i64, u8 to u64, f32, f64 as they are, bool as int32_t, str as
 * const char *, time as const tutti_time *, ptr as a void * that is NULL, and structs, arrays, pointers and
 * callbacks that the manifest's "types" declare (sdk/README.md), all borrowed for the run.  With "engine": true its first
 * argument is a const tutti_engine_v1 *.  Its result is 0 or a negative status, and *err says why; a
 * positive result is no status and a failure wherever the function is called.  With "filter": true it is
 *     int32_t f([engine,] int64_t count, args..., tutti_error *err)
 * and says whether a handler is called at the event's count: above 0 yes, 0 no, a negative status on
 * error.  Exported, C linkage.
 * "returns" of the manifest is another result than a status; then there is no tutti_error *:
 *     "void"   nothing; the call always succeeds
 *     "bool" (an int), "i8" to "i64", "u8" to "u64", "f32", "f64"   a number: of a process function the
 *              output, of a filter whether it is 0, of a handler a metric of the handler's name
 *     "posix"  an int: below 0 it has failed, and errno says why
 *     "ptr", "tm*"  an address, which nobody keeps; or a struct of "types" of up to 1024 bytes, with "value".
 * "value" of the manifest is the place of the number that counts instead, in the struct that is returned or
 * behind its address ("returns.rem"), or behind a pointer argument ("ts.tv_sec", "of[1]").  [step] */

TUTTI_C_END
#endif
