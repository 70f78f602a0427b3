/* loop.c - a loop's life, its events and handlers. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/counts.h"
#include "loop/loop_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MAX_DEPTH = 64 }; /* of events fired by hand inside each other */

tutti_status tutti_loop_create(const tutti_loop_options *options, tutti_loop **ret_loop,
                               tutti_error *err)
{
    if (!options->process)
        return tutti_fail(err, TUTTI_E_ARG, "a loop must be given a process function");
    tutti_loop *l = calloc(1, sizeof *l);
    if (!l)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for a loop");
    const tutti_status s = handlers_create(&l->handlers, err);
    if (s) {
        free(l);
        return s;
    }
    l->options = *options;
    l->state.epoch_length = l->state.max_epochs = l->state.max_iters = TUTTI_LOOP_NONE;
    l->state.seed = TUTTI_LOOP_NONE;
    *ret_loop = l;
    return TUTTI_OK;
}

void tutti_loop_destroy(tutti_loop *l)
{
    if (!l)
        return;
    handlers_destroy(l->handlers);
    while (l->links) {
        listener *next = l->links->next;
        free(l->links);
        l->links = next;
    }
    for (int32_t k = 0; k < l->ncustoms; k++) {
        free(l->customs[k].name);
        free(l->customs[k].attribute);
    }
    loop_values_free(l->attributes);
    loop_values_free(l->metrics);
    free(l);
}

tutti_loop_state *tutti_loop_get_state(tutti_loop *l)
{
    return &l->state;
}

int tutti_loop_interrupted(const tutti_loop *l)
{
    return !l->running && l->phase != PHASE_IDLE;
}

void tutti_loop_terminate(tutti_loop *l, int skip)
{
    atomic_store(&l->requests.terminate, skip ? FLAG_SKIP : FLAG_YES);
}

void tutti_loop_terminate_epoch(tutti_loop *l, int skip)
{
    atomic_store(&l->requests.terminate_epoch, skip ? FLAG_SKIP : FLAG_YES);
}

void tutti_loop_interrupt(tutti_loop *l)
{
    atomic_store(&l->requests.interrupt, FLAG_YES);
}

void tutti_loop_signal(tutti_loop *l, int signal_number)
{
    atomic_store(&l->requests.signal, signal_number);
}

void loop_warn(const tutti_loop *l, const char *format, ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (l->options.warn)
        l->options.warn(l->options.warn_ctx, text);
}

/* ---- events ---- */

static const char *const own_names[] = {
#define TUTTI_X(name, value, code) [TUTTI_EVENT_##name - TUTTI_IGNITE_FIRST] = (value),
    TUTTI_IGNITE_EVENTS(TUTTI_X)
#undef TUTTI_X
};

const char *tutti_loop_event_name(const tutti_loop *l, int32_t event)
{
    if (event >= TUTTI_IGNITE_FIRST && event < IGNITE_EVENT_END)
        return own_names[event - TUTTI_IGNITE_FIRST];
    if (event >= TUTTI_EVENT_CUSTOM && event < TUTTI_EVENT_CUSTOM + l->ncustoms)
        return l->customs[event - TUTTI_EVENT_CUSTOM].name;
    return NULL;
}

int32_t tutti_loop_find(const tutti_loop *l, const char *name)
{
    for (int32_t k = TUTTI_IGNITE_FIRST; k < TUTTI_EVENT_CUSTOM + l->ncustoms; k++) {
        const char *known = tutti_loop_event_name(l, k);
        if (known && strcasecmp(known, name) == 0)
            return k;
    }
    return -1;
}

static tutti_status check_event(const tutti_loop *l, int32_t event, tutti_error *err)
{
    if (tutti_loop_event_name(l, event))
        return TUTTI_OK;
    return tutti_fail(err, TUTTI_E_ARG, "%d is no event of this loop", (int)event);
}

tutti_status tutti_loop_register(tutti_loop *l, const char *name, const char *attribute,
                                 int32_t *ret_event, tutti_error *err)
{
    if (!name || !*name)
        return tutti_fail(err, TUTTI_E_ARG, "an event needs a name");
    int32_t event = tutti_loop_find(l, name);
    if (event < 0 && l->ncustoms == LOOP_CUSTOM)
        return tutti_fail(err, TUTTI_E_RANGE, "%s: a loop has at most %d events of its own",
                          name, LOOP_CUSTOM);
    if (attribute && event >= 0 && event < IGNITE_EVENT_END)
        return tutti_fail(err, TUTTI_E_ARG, "%s counts what the loop counts, not %s", name,
                          attribute);
    if (attribute && !loop_value(l, attribute)) {
        const tutti_loop_value zero = {.type = TUTTI_LOOP_INT};
        const tutti_status s = tutti_loop_set(l, attribute, &zero, err);
        if (s)
            return s;
    }
    char *counted = attribute ? strdup(attribute) : NULL;
    char *own = event < 0 ? strdup(name) : NULL;
    if ((attribute && !counted) || (event < 0 && !own)) {
        free(counted);
        free(own);
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for the event %s", name);
    }
    if (event < 0) {
        l->customs[l->ncustoms].name = own;
        event = TUTTI_EVENT_CUSTOM + l->ncustoms++;
    }
    if (counted) {
        custom_name *c = &l->customs[event - TUTTI_EVENT_CUSTOM];
        free(c->attribute);
        c->attribute = counted;
    }
    *ret_event = event;
    return TUTTI_OK;
}

/* What filters of `event` count, or NULL. */
static const int64_t *counted(const tutti_loop *l, int32_t event)
{
    switch (event) {
    case TUTTI_EVENT_GET_BATCH_STARTED:
    case TUTTI_EVENT_GET_BATCH_COMPLETED:
    case TUTTI_EVENT_ITERATION_STARTED:
    case TUTTI_EVENT_ITERATION_COMPLETED:
        return &l->state.iteration;
    case TUTTI_EVENT_STARTED:
    case TUTTI_EVENT_COMPLETED:
    case TUTTI_EVENT_EPOCH_STARTED:
    case TUTTI_EVENT_EPOCH_COMPLETED:
        return &l->state.epoch;
    default:
        break;
    }
    const char *attribute =
        event >= TUTTI_EVENT_CUSTOM ? l->customs[event - TUTTI_EVENT_CUSTOM].attribute : NULL;
    const named_value *v = attribute ? loop_value(l, attribute) : NULL;
    if (attribute && strcmp(attribute, "iteration") == 0)
        return &l->state.iteration;
    if (attribute && strcmp(attribute, "epoch") == 0)
        return &l->state.epoch;
    return v ? &v->value.integer : NULL;
}

tutti_status loop_fire(tutti_loop *l, const tutti_loop_firing *firing, tutti_error *err)
{
    if (l->options.observe)
        l->options.observe(l->options.observe_ctx, firing);
    const int64_t *count = counted(l, firing->event);
    tutti_loop_firing told = *firing;
    told.count = count ? *count : TUTTI_LOOP_NONE;
    return handlers_fire(l->handlers, firing->event, count, &told, err);
}

tutti_status tutti_loop_fire(tutti_loop *l, int32_t event, tutti_error *err)
{
    const tutti_loop_firing firing = {.event = event};
    tutti_status s = check_event(l, event, err);
    if (s)
        return s;
    if (l->depth == MAX_DEPTH)
        return tutti_fail(err, TUTTI_E_STATE,
                          "%s goes round: it is fired inside %d other events",
                          tutti_loop_event_name(l, event), MAX_DEPTH);
    l->depth++;
    s = loop_fire(l, &firing, err);
    l->depth--;
    return s;
}

/* ---- handlers ---- */

static tutti_status call_link(void *ctx, const void *firing, tutti_error *err)
{
    const listener *k = ctx;
    return k->fn(k->loop, firing, k->ctx, err);
}

static int32_t ask_link(void *ctx, int64_t count, tutti_error *err)
{
    const listener *k = ctx;
    return k->test(k->loop, count, k->ctx, err);
}

/* Handlers of one `test` share a listener; the filters of a list may have different ones. */
static listener *add_link(tutti_loop *l, tutti_loop_handler fn, void *ctx, const tutti_on *on)
{
    listener *k = calloc(1, sizeof *k);
    if (!k)
        return NULL;
    *k = (listener){
        .loop = l, .fn = fn, .ctx = ctx, .test = on ? on->test : NULL, .next = l->links};
    l->links = k;
    return k;
}

/* Links that joined last and heard nothing. */
static void drop_links(tutti_loop *l, const listener *until)
{
    while (l->links != until) {
        listener *next = l->links->next;
        free(l->links);
        l->links = next;
    }
}

static tutti_status read_on(tutti_loop *l, const tutti_on *on, tutti_loop_handler fn, void *ctx,
                            heard *ret_heard, tutti_error *err)
{
    const tutti_status s = check_event(l, on->event, err);
    if (s)
        return s;
    if (!on->once != !on->nonce)
        return tutti_fail(err, TUTTI_E_ARG, "once is an empty list");
    *ret_heard = (heard){.event = on->event,
                         .filter = {.every = on->every,
                                    .has_before = on->before != TUTTI_LOOP_NONE,
                                    .has_after = on->after != TUTTI_LOOP_NONE,
                                    .before = on->before,
                                    .after = on->after,
                                    .once = on->once,
                                    .nonce = on->nonce}};
    if (on->test) {
        ret_heard->filter.test = ask_link;
        ret_heard->filter.ctx = add_link(l, fn, ctx, on);
        if (!ret_heard->filter.ctx)
            return tutti_fail(err, TUTTI_E_NOMEM, "no memory for a handler");
    }
    return TUTTI_OK;
}

/* Links the handler to all of `on`, or to none. */
static tutti_status add_linked(tutti_loop *l, const tutti_on *on, heard *events, size_t n,
                               tutti_loop_handler fn, void *ctx, uint64_t *ret_handle,
                               tutti_error *err)
{
    const listener *before = l->links;
    tutti_status s = TUTTI_OK;
    for (size_t k = 0; k < n && !s; k++)
        s = read_on(l, &on[k], fn, ctx, &events[k], err);
    listener *own = s ? NULL : add_link(l, fn, ctx, NULL);
    if (!s && !own)
        s = tutti_fail(err, TUTTI_E_NOMEM, "no memory for a handler");
    if (!s)
        s = handlers_add(l->handlers, events, n, call_link, own, HANDLER_STOP, ret_handle, err);
    if (s)
        drop_links(l, before);
    else
        own->handle = *ret_handle;
    return s;
}

tutti_status tutti_loop_add(tutti_loop *l, const tutti_on *on, size_t n, tutti_loop_handler fn,
                            void *ctx, uint64_t *ret_handle, tutti_error *err)
{
    uint64_t handle = 0;
    if (!fn || n == 0)
        return tutti_fail(err, TUTTI_E_ARG, "a handler wants a function and an event");
    heard *events = calloc(n, sizeof *events);
    if (!events)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for a handler");
    const tutti_status s = add_linked(l, on, events, n, fn, ctx, &handle, err);
    free(events);
    if (!s && ret_handle)
        *ret_handle = handle;
    return s;
}

tutti_status tutti_loop_on(tutti_loop *l, int32_t event, tutti_loop_handler fn, void *ctx,
                           tutti_error *err)
{
    tutti_on on = TUTTI_ON_INIT;
    on.event = event;
    return tutti_loop_add(l, &on, 1, fn, ctx, NULL, err);
}

int tutti_loop_remove(tutti_loop *l, uint64_t handle)
{
    return handlers_remove(l->handlers, handle);
}

tutti_status tutti_loop_remove_handler(tutti_loop *l, int32_t event, tutti_loop_handler fn,
                                       void *ctx, tutti_error *err)
{
    const tutti_status s = check_event(l, event, err);
    if (s)
        return s;
    size_t found = 0;
    for (listener *k = l->links; k; k = k->next)
        if (k->handle && k->fn == fn && k->ctx == ctx)
            found += handlers_remove_all(l->handlers, event, call_link, k);
    if (found == 0)
        return tutti_fail(err, TUTTI_E_NOTFOUND, "%s has no such handler",
                          tutti_loop_event_name(l, event));
    return TUTTI_OK;
}

int tutti_loop_has(const tutti_loop *l, int32_t event, tutti_loop_handler fn, const void *ctx)
{
    for (const listener *k = l->links; k; k = k->next)
        if (k->handle && k->fn == fn && k->ctx == ctx &&
            handlers_has(l->handlers, event, call_link, k))
            return 1;
    return 0;
}
