/* loop.h - Ignite's engine for programs of your own: a training loop that fires events. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TUTTI_HOST_LOOP_H
#define TUTTI_HOST_LOOP_H

#include "tutti/events.h"
#include "tutti_host/loop_state.h"

TUTTI_C_BEGIN
#pragma GCC visibility push(default)

/* Processes one batch (NULL when there is no data).  [step] */
typedef tutti_status (*tutti_loop_process)(tutti_loop *loop, void *batch, void **ret_output,
                                           void *ctx, tutti_error *err);

/* What a handler is told beside the loop. */
typedef struct tutti_loop_firing {
    int32_t event;
    int32_t reserved;
    const tutti_error *exception; /* exception_raised only.  E_INTERRUPTED: a signal */
    int64_t count;                /* what filters count; NONE where the event counts nothing */
    int64_t iter_counter;         /* terminate_single_epoch only: batches of the cut epoch */
} tutti_loop_firing;

typedef tutti_status (*tutti_loop_handler)(tutti_loop *loop, const tutti_loop_firing *firing,
                                           void *ctx, tutti_error *err);

/* An event to hear, and at which of its counts (the epoch for started, completed and epoch_*, else
 * the iteration; a custom event's attribute).  Use one group: `test`; `once`; or `every`, `before`
 * and `after`.  A filter on an event that counts nothing is an error when it fires. */
typedef struct tutti_on {
    int32_t event;
    int32_t reserved;
    int64_t every;       /* the count is a multiple; 0: not given */
    int64_t after;       /* the count is greater; TUTTI_LOOP_NONE: not given */
    int64_t before;      /* the count is less; TUTTI_LOOP_NONE: not given */
    const int64_t *once; /* the count is one of these, which are copied */
    size_t nonce;
    /* 1, 0 or a negative status.  Gets the handler's ctx. */
    int32_t (*test)(tutti_loop *loop, int64_t count, void *ctx, tutti_error *err);
} tutti_on;

#define TUTTI_ON_INIT                                                                          \
    {                                                                                          \
        0, 0, 0, TUTTI_LOOP_NONE, TUTTI_LOOP_NONE, NULL, 0, NULL                               \
    }

typedef struct tutti_loop_options {
    uint32_t struct_size;
    int32_t deterministic; /* Ignite's DeterministicEngine: data flow that a resume repeats */
    tutti_loop_process process;
    void *process_ctx;
    /* Told of every event before its handlers; may be NULL. */
    void (*observe)(void *ctx, const tutti_loop_firing *firing);
    void *observe_ctx;
    /* Warnings, one sentence each; may be NULL. */
    void (*warn)(void *ctx, const char *text);
    void *warn_ctx;
    /* Seeds the program's own generators whenever the loop seeds its own; may be NULL. */
    void (*reseed)(void *ctx, uint64_t seed);
    void *reseed_ctx;
} tutti_loop_options;

#define TUTTI_LOOP_OPTIONS_INIT                                                                \
    {                                                                                          \
        (uint32_t)sizeof(tutti_loop_options), 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL,     \
            NULL                                                                               \
    }

/* Errors: E_ARG without a process function.  [control] */
TUTTI_NODISCARD tutti_status tutti_loop_create(const tutti_loop_options *options,
                                               tutti_loop **ret_loop, tutti_error *err);
void tutti_loop_destroy(tutti_loop *loop); /* not from its own run; NULL is allowed */

/* One run.  NONE means "not given". */
typedef struct tutti_loop_run_args {
    const tutti_loop_data *data; /* NULL: no data, epoch_length batches of NULL an epoch */
    int64_t max_epochs;
    int64_t max_iters; /* instead of max_epochs */
    int64_t epoch_length;
    int64_t seed;
} tutti_loop_run_args;

#define TUTTI_LOOP_RUN_INIT                                                                    \
    {                                                                                          \
        NULL, TUTTI_LOOP_NONE, TUTTI_LOOP_NONE, TUTTI_LOOP_NONE, TUTTI_LOOP_NONE               \
    }

/* Runs until a limit, terminate or interrupt.  Afterwards:
 *   interrupted                       goes on behind the interrupt; `data` is ignored, limits count
 *   limit not reached, or raised      resumes: started fires with the present counters
 *   limit reached, or none given      restarts from zero (one epoch when no limit is given)
 * Metrics, output and attributes stay.  An error of process, data or a handler inside an epoch ends the epoch when
 * exception_raised has handlers and they return OK; any other error, and E_INTERRUPTED from anywhere, ends the run, and
 * is returned unless those handlers return OK.
 * Errors of its own, nothing fired: E_ARG arguments that contradict each other or the state (set state->max_epochs or
 * max_iters to NONE to start anew); E_STATE it is running already.  E_STATE also: terminate_epoch in started or
 * epoch_started; end of data told where none is fetched.  [control] */
TUTTI_NODISCARD tutti_status tutti_loop_run(tutti_loop *loop, const tutti_loop_run_args *args,
                                            tutti_error *err);
/* As tutti_loop_run, but a limit that is reached resumes as well: started and completed fire.  [control] */
TUTTI_NODISCARD tutti_status tutti_loop_resume(tutti_loop *loop,
                                               const tutti_loop_run_args *args,
                                               tutti_error *err);

int tutti_loop_interrupted(const tutti_loop *loop); /* whether a run waits to go on */

/* Takes effect behind the handlers of the event under way; terminate goes before terminate_epoch
 * before interrupt.  `skip` leaves out completed, or epoch_completed.  [any] */
void tutti_loop_terminate(tutti_loop *loop, int skip);
void tutti_loop_terminate_epoch(tutti_loop *loop, int skip);
void tutti_loop_interrupt(tutti_loop *loop);

/* From a signal handler or another thread: at its next event the run ends with E_INTERRUPTED.  [any] */
void tutti_loop_signal(tutti_loop *loop, int signal_number);
/* SIGINT of the process is tutti_loop_signal, or with `interrupt` tutti_loop_interrupt, of this loop
 * during its runs; the outermost running loop gets it.  [control] */
void tutti_loop_catch_sigint(tutti_loop *loop, int interrupt);

/* Replaces state->data and the data under way at once.  [step] */
TUTTI_NODISCARD tutti_status tutti_loop_set_data(tutti_loop *loop, const tutti_loop_data *data,
                                                 tutti_error *err);

/* Adds a handler to the `n` events at `on`, all or none; they run in the order in which they were added.  One that is
 * added to an event under way runs in the same firing; one that is removed does not.  *ret_handle may be NULL.
 * E_ARG: no such event, a filter of several groups or out of range.  [step] */
TUTTI_NODISCARD tutti_status tutti_loop_add(tutti_loop *loop, const tutti_on *on, size_t n,
                                            tutti_loop_handler fn, void *ctx,
                                            uint64_t *ret_handle, tutti_error *err);
/* The same for one event without a filter. */
TUTTI_NODISCARD tutti_status tutti_loop_on(tutti_loop *loop, int32_t event,
                                           tutti_loop_handler fn, void *ctx, tutti_error *err);
/* Removes what one call added, on all its events; 0 when it is gone already. */
int tutti_loop_remove(tutti_loop *loop, uint64_t handle);
/* Removes every registration of `fn` with `ctx` on `event`.  E_NOTFOUND when there is none. */
TUTTI_NODISCARD tutti_status tutti_loop_remove_handler(tutti_loop *loop, int32_t event,
                                                       tutti_loop_handler fn, void *ctx,
                                                       tutti_error *err);
/* Whether `fn` with `ctx` hears `event`; -1: any. */
int tutti_loop_has(const tutti_loop *loop, int32_t event, tutti_loop_handler fn,
                   const void *ctx);

/* A custom event.  `attribute` (may be NULL) is the attribute that it counts: made with 0 if need be,
 * theirs to count who fire it.  Registering a name again is allowed.  E_RANGE: over 128.  [control] */
TUTTI_NODISCARD tutti_status tutti_loop_register(tutti_loop *loop, const char *name,
                                                 const char *attribute, int32_t *ret_event,
                                                 tutti_error *err);
/* An event's number by name in any case, -1 when there is none; its name, NULL when there is none. */
int32_t tutti_loop_find(const tutti_loop *loop, const char *name);
const char *tutti_loop_event_name(const tutti_loop *loop, int32_t event);
/* Fires an event by hand; E_ARG when it is not registered.  [step] */
TUTTI_NODISCARD tutti_status tutti_loop_fire(tutti_loop *loop, int32_t event, tutti_error *err);

#pragma GCC visibility pop
TUTTI_C_END
#endif
