/* engine_check.h - an engine with made-up participants that write down what happens to them. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_CHECK_H
#define ENGINE_CHECK_H

#include "engine/engine_internal.h"
#include "tutti/pass.h"
#include "tutti_check.h"

#include <stdio.h>

/* The loader has the strong one; these tests run without a loader. */
__attribute__((weak)) _Thread_local breadcrumb crash_breadcrumb;
__attribute__((weak)) _Thread_local _Atomic uint64_t crash_beats;

/* Everything that happened, and every line that was logged. */
static char journal[4096];
static char log_lines[4096];

static inline void note(const char *head, const char *name, const char *tail)
{
    const size_t used = strlen(journal);
    (void)snprintf(journal + used, sizeof journal - used, "%s%s%s%s", used ? " " : "", head,
                   name, tail);
}

static inline void keep_line(void *ctx, int level, const char *component, const char *text)
{
    const size_t used = strlen(log_lines);
    (void)snprintf(log_lines + used, sizeof log_lines - used, "%d %s: %s\n", level, component,
                   text);
}

/* One made-up participant; fields say how it behaves. */
typedef struct actor {
    const char *name;
    int32_t match; /* what match answers */
    int64_t exit_code;
    tutti_status fails; /* what apply or run_event returns */
    tutti_status close_fails;
    int matches;
    int runs;
    tutti_pass_v1 pass;
    engine *nested; /* runs an event of this engine inside apply */
} actor;

static inline int32_t actor_match(void *self, const tutti_event *event)
{
    actor *a = self;
    a->matches++;
    return a->match;
}

static inline tutti_status actor_apply(void *self, const tutti_event *event,
                                       int64_t *ret_exit_code, tutti_error *err)
{
    actor *a = self;
    a->runs++;
    note("", a->name, "");
    *ret_exit_code = a->exit_code;
    if (a->nested)
        ck_assert_ok(engine_run_event(a->nested, TUTTI_EVENT_BEFORE_FORWARD, err), *err);
    return a->fails ? tutti_fail(err, a->fails, "the sky fell") : TUTTI_OK;
}

static inline tutti_status actor_hear(void *self, const tutti_event *event, tutti_error *err)
{
    actor *a = self;
    a->runs++;
    note("", a->name, "");
    return a->fails ? tutti_fail(err, a->fails, "the sky fell") : TUTTI_OK;
}

static inline tutti_status actor_close(void *self, tutti_error *err)
{
    actor *a = self;
    note("close:", a->name, "");
    return a->close_fails ? tutti_fail(err, a->close_fails, "it is stuck") : TUTTI_OK;
}

static inline tutti_status actor_post_close(void *self, tutti_error *err)
{
    note("post:", ((actor *)self)->name, "");
    return TUTTI_OK;
}

static inline const void *actor_query(void *self, const char *interface_id)
{
    actor *a = self;
    return strcmp(interface_id, TUTTI_PASS_V1) == 0 && a->pass.order ? &a->pass : NULL;
}

static const tutti_calls actor_calls = {.struct_size = (uint32_t)sizeof actor_calls,
                                        .match = actor_match,
                                        .apply = actor_apply,
                                        .run_event = actor_hear,
                                        .close = actor_close,
                                        .post_close = actor_post_close,
                                        .query = actor_query};

static tutti_timestamp clock_now = {.struct_size = (uint32_t)sizeof clock_now};
static tutti_timestamp clock_eval = {.struct_size = (uint32_t)sizeof clock_eval};

static inline engine *new_engine_in(bool upstream_order,
                                    void (*trace)(void *ctx, const tutti_trace *trace))
{
    const engine_options options = {.time = &clock_now,
                                    .eval_time = &clock_eval,
                                    .trace = trace,
                                    .log = keep_line,
                                    .upstream_order = upstream_order};
    tutti_error err = TUTTI_ERROR_INIT;
    engine *e = NULL;
    journal[0] = log_lines[0] = '\0';
    ck_assert_ok(engine_create(&options, &e, &err), err);
    return e;
}

static inline engine *new_engine(void (*trace)(void *ctx, const tutti_trace *trace))
{
    return new_engine_in(false, trace);
}

/* Participant `a` of `kind`, hearing the `n` events at `events`; other fields are the caller's. */
static inline participant as_participant(actor *a, const char *kind, const int32_t *events,
                                         size_t n)
{
    if (!a->exit_code)
        a->exit_code = TUTTI_EXIT_NONE;
    const participant p = {.name = a->name,
                           .object = a->name,
                           .kind = kind,
                           .plugin = "org.test",
                           .manifest = "plugins/x/plugin.json",
                           .calls = &actor_calls,
                           .self = a,
                           .events = events,
                           .nevents = n,
                           .on_error = ON_ERROR_STOP,
                           .pass_index = -1};
    return p;
}

static inline void add(engine *e, const participant *p)
{
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_ok(engine_add_object(e, p, &err), err);
}

static inline void seal(engine *e)
{
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_ok(engine_seal(e, &err), err);
}

static inline void run(engine *e, int32_t event)
{
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_ok(engine_run_event(e, event, &err), err);
}

#endif
