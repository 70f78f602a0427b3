/* loop_fuzz.c - scripts of handlers, filters, actions, data and runs, one loop in another: they end. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/counts.h"
#include "tutti_host/loop.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_HANDLERS = 12, MAX_FIRINGS = 3000 };

typedef struct script {
    const uint8_t *bytes;
    size_t size;
    size_t at;
    tutti_loop *loops[2];
    int firings;
    int32_t latest; /* the event that was fired last */
} script;

static int take(script *s, int below)
{
    return s->at < s->size ? s->bytes[s->at++] % below : 0;
}

static void must(int condition)
{
    if (!condition)
        __builtin_trap();
}

/* Counters that no script may bend, and an end to scripts that prolong themselves. */
static void observe(void *ctx, const tutti_loop_firing *firing)
{
    script *s = ctx;
    for (int k = 0; k < 2; k++) {
        const tutti_loop_state *st = tutti_loop_get_state(s->loops[k]);
        must(st->iteration >= 0 && st->epoch >= 0 && st->iteration <= MAX_FIRINGS);
        must(st->max_epochs == TUTTI_LOOP_NONE || st->max_iters == TUTTI_LOOP_NONE);
        if (s->firings > MAX_FIRINGS)
            tutti_loop_terminate(s->loops[k], 1);
    }
    s->firings++;
    must(s->firings < 2 * MAX_FIRINGS);
    s->latest = firing->event;
}

static tutti_status run_one(script *s, tutti_loop *l, tutti_error *err);

static tutti_status act(tutti_loop *l, const tutti_loop_firing *firing, void *ctx,
                        tutti_error *err)
{
    script *s = ctx;
    switch (take(s, 16)) {
    case 0:
        tutti_loop_terminate(l, take(s, 2));
        return TUTTI_OK;
    case 1:
        tutti_loop_terminate_epoch(l, take(s, 2));
        return TUTTI_OK;
    case 2:
        tutti_loop_interrupt(l);
        return TUTTI_OK;
    case 3:
        return tutti_fail(err, TUTTI_E_FAIL, "raised");
    case 4:
        return TUTTI_LOOP_END;
    case 5:
        tutti_loop_signal(l, 2);
        return TUTTI_OK;
    case 6:
        return run_one(s, s->loops[1], err);
    case 7:
        (void)tutti_loop_remove(l, (uint64_t)take(s, MAX_HANDLERS));
        return TUTTI_OK;
    default:
        return TUTTI_OK;
    }
}

static tutti_status process(tutti_loop *l, void *batch, void **out, void *ctx, tutti_error *err)
{
    return take(ctx, 20) == 1 ? tutti_fail(err, TUTTI_E_FAIL, "raised") : TUTTI_OK;
}

typedef struct source {
    tutti_loop_data data;
    int64_t count;
    int64_t next;
} source;

static int64_t length(void *ctx)
{
    return ((source *)ctx)->count;
}

static tutti_status restart(void *ctx, tutti_error *err)
{
    ((source *)ctx)->next = 0;
    return TUTTI_OK;
}

static tutti_status next(void *ctx, void **ret_batch, tutti_error *err)
{
    source *s = ctx;
    if (s->count >= 0 && s->next >= s->count)
        return TUTTI_LOOP_END;
    s->next++;
    *ret_batch = s;
    return TUTTI_OK;
}

/* Sources stay until the input is over: an interrupted run keeps its own. */
static source sources[64];
static size_t nsources;

static tutti_status run_one(script *s, tutti_loop *l, tutti_error *err)
{
    tutti_loop_run_args args = TUTTI_LOOP_RUN_INIT;
    const int kind = take(s, 4);
    if (nsources == 64)
        return TUTTI_OK;
    source *own = &sources[nsources++];
    *own = (source){.data = {.ctx = own, .next = next}, .count = take(s, 6)};
    if (kind == 1)
        own->count = -1;
    if (kind == 2) {
        own->data.length = length;
        own->data.restart = restart;
    }
    args.data = kind ? &own->data : NULL;
    if (take(s, 3))
        args.max_epochs = take(s, 5);
    else if (take(s, 2))
        args.max_iters = take(s, 9);
    if (kind < 2 || take(s, 2))
        args.epoch_length = take(s, 6);
    if (take(s, 4) == 1)
        tutti_loop_get_state(l)->max_epochs = tutti_loop_get_state(l)->max_iters =
            TUTTI_LOOP_NONE;
    return tutti_loop_run(l, &args, err);
}

static void add_handlers(script *s)
{
    const int n = take(s, MAX_HANDLERS);
    for (int k = 0; k < n; k++) {
        tutti_on on = TUTTI_ON_INIT;
        tutti_error err = TUTTI_ERROR_INIT;
        on.event = TUTTI_IGNITE_FIRST + take(s, IGNITE_EVENT_END - TUTTI_IGNITE_FIRST);
        const int64_t once = take(s, 6);
        if (take(s, 3) == 1)
            on.every = take(s, 4);
        if (take(s, 4) == 1)
            on.after = take(s, 4);
        if (take(s, 4) == 1) {
            on.once = &once;
            on.nonce = 1;
        }
        const tutti_status refused =
            tutti_loop_add(s->loops[take(s, 2)], &on, 1, act, s, NULL, &err);
        must(refused == TUTTI_OK || refused == TUTTI_E_ARG);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    script s = {.bytes = data, .size = size};
    tutti_loop_options options = TUTTI_LOOP_OPTIONS_INIT;
    options.process = process;
    options.process_ctx = &s;
    options.observe = observe;
    options.observe_ctx = &s;
    nsources = 0;
    tutti_error err = TUTTI_ERROR_INIT;
    if (tutti_loop_create(&options, &s.loops[0], &err) ||
        tutti_loop_create(&options, &s.loops[1], &err))
        return 0;
    add_handlers(&s);
    for (int k = 0; k < 4; k++) {
        tutti_error e = TUTTI_ERROR_INIT;
        s.firings = 0;
        const tutti_status status = run_one(&s, s.loops[0], &e);
        must(status == TUTTI_OK || (status < 0 && e.status == status));
        must(!(status && tutti_loop_interrupted(s.loops[0]) && e.status != TUTTI_E_ARG));
    }
    tutti_loop_destroy(s.loops[0]);
    tutti_loop_destroy(s.loops[1]);
    return 0;
}
