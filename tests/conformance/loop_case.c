/* loop_case.c - Ignite's loop: scripted handlers, data and runs against host/loop. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "conformance.h"
#include "tutti_host/loop.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_HANDLERS = 64, MAX_ONCE = 256, MAX_CALLS_TEXT = 64 };

static const char *const codes[] = {
#define TUTTI_X(name, value, code) [TUTTI_EVENT_##name - TUTTI_IGNITE_FIRST] = (code),
    TUTTI_IGNITE_EVENTS(TUTTI_X)
#undef TUTTI_X
};

typedef struct actor {
    const char *id;
    const char *action;
    int64_t nth; /* acts on this call only; 0: on each */
    int64_t calls;
    int skip;
    text_buffer told; /* of this run, "1.2 1.3" */
} actor;

/* Items are numbers from 0; the pointer to one is what the loop carries. */
typedef struct source {
    tutti_loop_data data;
    int64_t count; /* -1: no end */
    int64_t next;
    int64_t item;
} source;

typedef struct stage {
    tutti_loop *loop;
    actor actors[MAX_HANDLERS];
    size_t nactors;
    const json_node *raise_at;
    text_buffer trace;
    text_buffer batches;
} stage;

static void add_word(text_buffer *b, const char *code, const tutti_loop_state *st)
{
    text_add(b, "%s%s%lld.%lld", b->size ? " " : "", code, (long long)st->epoch,
             (long long)st->iteration);
}

static void observe(void *ctx, const tutti_loop_firing *firing)
{
    stage *s = ctx;
    add_word(&s->trace, codes[firing->event - TUTTI_IGNITE_FIRST],
             tutti_loop_get_state(s->loop));
}

static tutti_status act(tutti_loop *l, const tutti_loop_firing *firing, void *ctx,
                        tutti_error *err)
{
    actor *a = ctx;
    add_word(&a->told, "", tutti_loop_get_state(l));
    a->calls++;
    if (a->nth && a->nth != a->calls)
        return TUTTI_OK;
    if (strcmp(a->action, "terminate") == 0)
        tutti_loop_terminate(l, a->skip);
    else if (strcmp(a->action, "terminate_epoch") == 0)
        tutti_loop_terminate_epoch(l, a->skip);
    else if (strcmp(a->action, "interrupt") == 0)
        tutti_loop_interrupt(l);
    else if (strcmp(a->action, "raise") == 0)
        return tutti_fail(err, TUTTI_E_FAIL, "%s raises", a->id);
    return TUTTI_OK;
}

static tutti_status process(tutti_loop *l, void *batch, void **ret_output, void *ctx,
                            tutti_error *err)
{
    stage *s = ctx;
    const int64_t iteration = tutti_loop_get_state(l)->iteration;
    if (batch)
        text_add(&s->batches, "%s%lld", s->batches.size ? " " : "",
                 (long long)*(int64_t *)batch);
    else
        text_add(&s->batches, "%snull", s->batches.size ? " " : "");
    *ret_output = batch;
    for (size_t k = 0; k < json_count(s->raise_at); k++)
        if (json_int(json_at(s->raise_at, k)) == iteration)
            return tutti_fail(err, TUTTI_E_FAIL, "iteration %lld raises", (long long)iteration);
    return TUTTI_OK;
}

/* ---- data ---- */

static int64_t source_length(void *ctx)
{
    return ((source *)ctx)->count;
}

static tutti_status source_restart(void *ctx, tutti_error *err)
{
    ((source *)ctx)->next = 0;
    return TUTTI_OK;
}

static tutti_status source_next(void *ctx, void **ret_batch, tutti_error *err)
{
    source *s = ctx;
    if (s->count >= 0 && s->next >= s->count)
        return TUTTI_LOOP_END;
    s->item = s->next++;
    *ret_batch = &s->item;
    return TUTTI_OK;
}

/* NULL for no data. */
static const tutti_loop_data *make_source(const json_node *spec, source *s)
{
    const json_node *list = json_get(spec, "list"), *iterator = json_get(spec, "iterator");
    if (!spec || json_type(spec) == JSON_NULL)
        return NULL;
    *s = (source){.data = {.ctx = s, .next = source_next}, .count = -1};
    if (list) {
        s->data.length = source_length;
        s->data.restart = source_restart;
        s->count = json_int(list);
    } else if (iterator)
        s->count = json_int(iterator);
    return &s->data;
}

/* ---- handlers ---- */

static tutti_status read_counts(const json_node *once, int64_t *counts, tutti_on *on,
                                tutti_error *err)
{
    const int list = json_type(once) == JSON_ARRAY;
    const size_t n = list ? json_count(once) : 1;
    if (n > MAX_ONCE)
        return tutti_fail(err, TUTTI_E_RANGE, "more than %d counts", MAX_ONCE);
    for (size_t k = 0; k < n; k++) {
        const json_node *one = list ? json_at(once, k) : once;
        if (json_type(one) != JSON_INT)
            return tutti_fail(err, TUTTI_E_ARG, "once is %s", json_type_name(one));
        counts[k] = json_int(one);
    }
    on->once = counts;
    on->nonce = n;
    return TUTTI_OK;
}

static tutti_status read_number(const json_node *h, const char *key, int64_t *ret,
                                tutti_error *err)
{
    const json_node *n = json_get(h, key);
    if (!n || json_type(n) == JSON_NULL)
        return TUTTI_OK;
    if (json_type(n) == JSON_BOOL) { /* Python counts with them */
        *ret = json_bool(n);
        return TUTTI_OK;
    }
    if (json_type(n) != JSON_INT)
        return tutti_fail(err, TUTTI_E_ARG, "%s is %s", key, json_type_name(n));
    *ret = json_int(n);
    return TUTTI_OK;
}

static tutti_status add_handler(stage *s, const json_node *h, tutti_error *err)
{
    int64_t counts[MAX_ONCE];
    tutti_on on = TUTTI_ON_INIT;
    actor *a = &s->actors[s->nactors];
    const char *action = json_string(json_get(h, "do"));
    if (s->nactors == MAX_HANDLERS)
        return tutti_fail(err, TUTTI_E_RANGE, "more than %d handlers", MAX_HANDLERS);
    *a = (actor){.id = json_string(json_get(h, "id")),
                 .action = action ? action : "record",
                 .nth = json_int(json_get(h, "nth")),
                 .skip = json_bool(json_get(h, "skip"))};
    on.event = tutti_loop_find(s->loop, json_string(json_get(h, "on")));
    tutti_status e = read_number(h, "every", &on.every, err);
    if (!e)
        e = read_number(h, "before", &on.before, err);
    if (!e)
        e = read_number(h, "after", &on.after, err);
    const json_node *once = json_get(h, "once");
    if (!e && once && json_type(once) != JSON_NULL)
        e = read_counts(once, counts, &on, err);
    if (e)
        return e;
    if (json_get(h, "every") && json_type(json_get(h, "every")) != JSON_NULL && on.every == 0)
        on.every = -1; /* 0 would mean: not given */
    e = tutti_loop_add(s->loop, &on, 1, act, a, NULL, err);
    if (!e)
        s->nactors++;
    return e;
}

/* ---- runs ---- */

static const char *error_word(tutti_status s)
{
    switch (s) {
    case TUTTI_OK:
        return "null";
    case TUTTI_E_ARG:
        return "invalid_argument";
    case TUTTI_E_STATE:
        return "runtime";
    case TUTTI_E_FAIL:
        return "handler";
    default:
        return tutti_status_name(s);
    }
}

static int64_t optional(const json_node *n)
{
    return n && json_type(n) != JSON_NULL ? json_int(n) : TUTTI_LOOP_NONE;
}

static void set_fields(stage *s, const json_node *set)
{
    tutti_loop_state *st = tutti_loop_get_state(s->loop);
    const struct {
        const char *key;
        int64_t *field;
    } fields[] = {{"iteration", &st->iteration},
                  {"epoch", &st->epoch},
                  {"epoch_length", &st->epoch_length},
                  {"max_epochs", &st->max_epochs},
                  {"max_iters", &st->max_iters}};
    for (size_t k = 0; k < sizeof fields / sizeof *fields; k++)
        if (json_get(set, fields[k].key))
            *fields[k].field = optional(json_get(set, fields[k].key));
}

static void add_number(text_buffer *b, const char *key, int64_t value)
{
    text_add(b, "%s%s ", b->size ? " " : "", key);
    if (value == TUTTI_LOOP_NONE)
        text_add(b, "null");
    else
        text_add(b, "%lld", (long long)value);
}

/* Adds what differs to the verdict, headed by the place. */
static void compare(verdict *v, const char *where, const char *want, const char *got)
{
    want = want ? want : "null";
    got = got ? got : "null";
    if (strcmp(want, got) == 0)
        return;
    text_add(&v->want, "%s%s %s", v->want.size ? "; " : "", where, want);
    text_add(&v->got, "%s%s %s", v->got.size ? "; " : "", where, got);
}

static void compare_state(verdict *v, const char *where, const json_node *want, stage *s)
{
    const tutti_loop_state *st = tutti_loop_get_state(s->loop);
    const struct {
        const char *key;
        int64_t value;
    } fields[] = {{"epoch", st->epoch},
                  {"iteration", st->iteration},
                  {"epoch_length", st->epoch_length},
                  {"max_epochs", st->max_epochs},
                  {"max_iters", st->max_iters}};
    text_buffer a = {0}, b = {0};
    for (size_t k = 0; k < sizeof fields / sizeof *fields; k++)
        if (json_get(want, fields[k].key)) {
            add_number(&a, fields[k].key, optional(json_get(want, fields[k].key)));
            add_number(&b, fields[k].key, fields[k].value);
        }
    compare(v, where, a.data, b.data);
    free(a.data);
    free(b.data);
}

/* A list of words or numbers as one text. */
static void join(text_buffer *b, const json_node *list)
{
    for (size_t k = 0; k < json_count(list); k++) {
        const json_node *item = json_at(list, k);
        const char *gap = k ? " " : "";
        if (json_type(item) == JSON_STRING)
            text_add(b, "%s%s", gap, json_string(item));
        else if (json_type(item) == JSON_NULL)
            text_add(b, "%snull", gap);
        else
            text_add(b, "%s%lld", gap, (long long)json_int(item));
    }
}

static void compare_list(verdict *v, const char *where, const json_node *want,
                         const text_buffer *came)
{
    text_buffer b = {0};
    join(&b, want);
    compare(v, where, b.data ? b.data : "", came->data ? came->data : "");
    free(b.data);
}

static void compare_run(verdict *v, size_t k, const json_node *want, tutti_status status,
                        stage *s)
{
    char where[160];
    const char *error = json_string(json_get(want, "error"));
    (void)snprintf(where, sizeof where, "run %zu error", k);
    compare(v, where, error, error_word(status));
    (void)snprintf(where, sizeof where, "run %zu trace", k);
    if (json_get(want, "trace"))
        compare(v, where, json_string(json_get(want, "trace")),
                s->trace.data ? s->trace.data : "");
    (void)snprintf(where, sizeof where, "run %zu batches", k);
    if (json_get(want, "batches"))
        compare_list(v, where, json_get(want, "batches"), &s->batches);
    for (size_t j = 0; json_get(want, "calls") && j < s->nactors; j++) {
        (void)snprintf(where, sizeof where, "run %zu calls of %s", k, s->actors[j].id);
        compare_list(v, where, json_get(json_get(want, "calls"), s->actors[j].id),
                     &s->actors[j].told);
    }
    (void)snprintf(where, sizeof where, "run %zu state", k);
    compare_state(v, where, json_get(want, "state"), s);
}

static void clear(text_buffer *b)
{
    free(b->data);
    *b = (text_buffer){0};
}

static void run_once(verdict *v, stage *s, const json_node *run, size_t k,
                     const json_node *want, source *own)
{
    tutti_error err = TUTTI_ERROR_INIT;
    clear(&s->trace);
    clear(&s->batches);
    for (size_t j = 0; j < s->nactors; j++)
        clear(&s->actors[j].told);
    set_fields(s, json_get(run, "set"));
    const tutti_loop_run_args args = {.data = make_source(json_get(run, "data"), own),
                                      .max_epochs = optional(json_get(run, "max_epochs")),
                                      .max_iters = optional(json_get(run, "max_iters")),
                                      .epoch_length = optional(json_get(run, "epoch_length")),
                                      .seed = optional(json_get(run, "seed"))};
    const tutti_status status = tutti_loop_run(s->loop, &args, &err);
    compare_run(v, k, want, status, s);
}

/* The single {"error": ...} of a case whose handlers are refused, or NULL. */
static const json_node *refusal(const json_node *expect)
{
    const json_node *one = json_type(expect) == JSON_ARRAY ? json_at(expect, 0) : expect;
    return json_get(one, "error") && !json_get(one, "trace") && !json_get(one, "state") ? one
                                                                                        : NULL;
}

void run_loop_case(const json_node *c, registry *plugins, verdict *v)
{
    const json_node *handlers = json_get(c, "handlers"), *runs = json_get(c, "runs");
    const json_node *expect = json_get(c, "expect"), *refused = refusal(expect);
    stage *s = calloc(1, sizeof *s);
    source *sources = calloc(json_count(runs) + 1, sizeof *sources);
    tutti_loop_options options = TUTTI_LOOP_OPTIONS_INIT;
    tutti_error err = TUTTI_ERROR_INIT;
    options.process = process;
    options.process_ctx = s;
    options.observe = observe;
    options.observe_ctx = s;
    tutti_status status = TUTTI_E_NOMEM;
    if (s && sources && !(status = tutti_loop_create(&options, &s->loop, &err))) {
        s->raise_at = json_get(json_get(c, "process"), "raise_at");
        for (size_t k = 0; k < json_count(handlers) && !status; k++)
            status = add_handler(s, json_at(handlers, k), &err);
    }
    if (refused)
        compare(v, "handlers", json_string(json_get(refused, "error")), error_word(status));
    else if (status)
        text_add(&v->got, "handlers %s: %s", error_word(status), err.text);
    for (size_t k = 0; !status && !refused && k < json_count(runs); k++)
        run_once(v, s, json_at(runs, k), k + 1, json_at(expect, k), &sources[k]);
    if (s) {
        tutti_loop_destroy(s->loop);
        clear(&s->trace);
        clear(&s->batches);
        for (size_t k = 0; k < s->nactors; k++)
            clear(&s->actors[k].told);
    }
    free(sources);
    free(s);
}
