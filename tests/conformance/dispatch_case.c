/* dispatch_case.c - the order in which participants hear one event. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "conformance.h"
#include "engine/engine_internal.h"

#include <stdlib.h>

typedef struct actor {
    const char *kind;
    const char *name;
    text_buffer *out;
    size_t *heard;
} actor;

static void write_down(const actor *a)
{
    text_add(a->out, "%s%s:%s", (*a->heard)++ ? " " : "", a->kind, a->name);
}

static int32_t always(void *self, const tutti_event *event)
{
    return 1;
}

static tutti_status apply(void *self, const tutti_event *event, int64_t *ret_exit_code,
                          tutti_error *err)
{
    write_down(self);
    return TUTTI_OK;
}

static tutti_status hear(void *self, const tutti_event *event, tutti_error *err)
{
    write_down(self);
    return TUTTI_OK;
}

static const tutti_calls calls = {
    .struct_size = (uint32_t)sizeof calls, .match = always, .apply = apply, .run_event = hear};

enum { CAST = 256 };

typedef struct stage {
    engine *engine;
    actor cast[CAST];
    size_t used;
    size_t heard;
    int32_t event;
    tutti_error err;
} stage;

static void add_all(stage *s, const json_node *names, const char *kind, text_buffer *out)
{
    for (size_t k = 0; names && k < json_count(names) && s->used < CAST; k++) {
        actor *a = &s->cast[s->used++];
        *a = (actor){kind, json_string(json_at(names, k)), out, &s->heard};
        const participant p = {.name = a->name,
                               .object = a->name,
                               .kind = kind,
                               .plugin = "conformance",
                               .manifest = "conformance",
                               .calls = &calls,
                               .self = a,
                               .events = &s->event,
                               .nevents = 1,
                               .on_error = ON_ERROR_STOP,
                               .pass_index = -1};
        if (engine_add_object(s->engine, &p, &s->err))
            return;
    }
}

void run_dispatch_case(const json_node *c, registry *plugins, verdict *v)
{
    const json_node *order = member(member(c, "expect"), "order");
    static const tutti_timestamp clock = {.struct_size = (uint32_t)sizeof clock};
    const engine_options options = {.time = &clock, .eval_time = &clock};
    stage *s = calloc(1, sizeof *s);
    for (size_t k = 0; order && k < json_count(order); k++)
        text_add(&v->want, "%s%s", k ? " " : "", json_string(json_at(order, k)));
    if (!s || engine_create(&options, &s->engine, &s->err)) {
        free(s);
        return;
    }
    s->event = engine_find_event(s->engine, text_of(c, "event"));
    add_all(s, member(c, "algorithms"), TUTTI_KIND_ALGORITHM, &v->got);
    add_all(s, member(c, "callbacks"), TUTTI_KIND_CALLBACK, &v->got);
    add_all(s, member(c, "loggers"), TUTTI_KIND_LOGGER, &v->got);
    if (s->err.status || engine_seal(s->engine, &s->err) ||
        engine_run_event(s->engine, s->event, &s->err))
        text_add(&v->got, " %s", s->err.text);
    engine_destroy(s->engine);
    free(s);
}
