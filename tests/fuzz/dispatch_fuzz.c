/* dispatch_fuzz.c - random casts, rules, failures and events: what the dispatcher promises holds. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/engine_internal.h"
#include "engine/handlers/filter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { CAST = 12, DEPTH = 3 };

typedef struct script {
    const uint8_t *at;
    size_t left;
} script;

static uint8_t next(script *s)
{
    if (!s->left)
        return 0;
    s->left--;
    return *s->at++;
}

typedef struct actor {
    char name[8];
    int32_t events[6];
    const char *before[2];
    filter filter;
} actor;

static script bytes;
static actor cast[CAST];
static engine *stage;
static int depth;

static int32_t match(void *self, const tutti_event *event)
{
    const actor *a = self;
    if (!event->name || !event->time)
        abort();
    const uint8_t b = next(&bytes);
    return b < 10 ? TUTTI_E_FAIL : b & 1 && filter_passes(&a->filter, b, NULL) == 1;
}

/* May fail, and may run an event inside this one. */
static tutti_status act(actor *a, const tutti_event *event, tutti_error *err)
{
    const uint8_t b = next(&bytes);
    if (crash_breadcrumb.at != event || strcmp(crash_breadcrumb.who->object, a->name) != 0)
        abort();
    if (depth < DEPTH && b > 200) {
        depth++;
        tutti_error inner = TUTTI_ERROR_INIT;
        const tutti_status s =
            b > 230 ? engine_service(stage)->fire(stage, TUTTI_EVENT_CUSTOM + (b & 1), &inner)
                    : engine_run_event(stage, b & 63, &inner);
        depth--;
        if ((s != TUTTI_OK) != (inner.status != TUTTI_OK))
            abort();
        if (crash_breadcrumb.at != event)
            abort();
    }
    return b < 12 ? tutti_fail(err, TUTTI_E_FAIL, "told to fail") : TUTTI_OK;
}

static tutti_status apply(void *self, const tutti_event *event, int64_t *ret_exit_code,
                          tutti_error *err)
{
    return act(self, event, err);
}

static tutti_status hear(void *self, const tutti_event *event, tutti_error *err)
{
    return act(self, event, err);
}

static const tutti_calls calls = {
    .struct_size = (uint32_t)sizeof calls, .match = match, .apply = apply, .run_event = hear};

static void add_one(int k, script *s)
{
    actor *a = &cast[k];
    memset(a, 0, sizeof *a);
    (void)snprintf(a->name, sizeof a->name, "p%d", k);
    const uint8_t kind = next(s), rules = next(s);
    static const char *const kinds[] = {TUTTI_KIND_ALGORITHM, TUTTI_KIND_ALGORITHM,
                                        TUTTI_KIND_CALLBACK, TUTTI_KIND_LOGGER};
    for (int e = 0; e < 6; e++)
        a->events[e] = next(s) % 132;
    a->filter.every = next(s) % 5;
    a->before[0] = rules & 1 ? cast[(k + 1) % CAST].name : NULL;
    const participant p = {.name = a->name,
                           .object = a->name,
                           .kind = kinds[kind & 3],
                           .plugin = "fuzz",
                           .manifest = "fuzz.json",
                           .calls = &calls,
                           .self = a,
                           .events = a->events,
                           .nevents = 1 + next(s) % 6,
                           .rules = {.first = (rules & 2) != 0,
                                     .last = (rules & 4) != 0,
                                     .before = a->before,
                                     .reverse_on = {UINT64_C(1) << (rules >> 2)}},
                           .on_error = rules % 3,
                           .pass_index = -1};
    tutti_error err = TUTTI_ERROR_INIT;
    if (engine_add_object(stage, &p, &err))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const tutti_timestamp clock = {.struct_size = (uint32_t)sizeof clock};
    static const custom_event own[] = {{"one", "ones"}, {"two", NULL}};
    const engine_options options = {
        .time = &clock, .eval_time = &clock, .events = own, .nevents = 2};
    tutti_error err = TUTTI_ERROR_INIT;
    bytes = (script){data, size};
    if (engine_create(&options, &stage, &err))
        abort();
    const int n = next(&bytes) % (CAST + 1);
    for (int k = 0; k < n; k++)
        add_one(k, &bytes);
    tutti_status s = engine_seal(stage, &err);
    while (s == TUTTI_OK && bytes.left) {
        const int32_t event = next(&bytes) % 140;
        const bool heard = engine_listens(stage, event);
        err = (tutti_error)TUTTI_ERROR_INIT;
        s = engine_run_train_event(stage, event, &err);
        if (!heard && s != TUTTI_OK && !strchr(err.text, ':'))
            abort(); /* only somebody's failure is an error, and it says whose */
        if (crash_breadcrumb.who || crash_breadcrumb.at)
            abort();
        s = TUTTI_OK;
    }
    engine_close(stage);
    err = (tutti_error)TUTTI_ERROR_INIT;
    if (engine_run_event(stage, TUTTI_EVENT_INIT, &err) != TUTTI_E_STATE)
        abort();
    engine_destroy(stage);
    return 0;
}
