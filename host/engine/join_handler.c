/* join_handler.c - a handler of the run file becomes a participant. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/engine_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static tutti_status hear(void *self, const tutti_event *event, tutti_error *err)
{
    bound *b = self;
    int64_t own;
    return binding_call(b->binding, &b->engine->service, event->id,
                        engine_filter_count(b->engine, event->id, &own), err);
}

static const tutti_calls bound_calls = {.struct_size = (uint32_t)sizeof bound_calls,
                                        .run_event = hear};

static void release(bound *b)
{
    binding_free(b->binding);
    json_free(b->doc);
}

tutti_status engine_bind(engine *e, binding *b, tutti_error *err)
{
    const tutti_status loaded = binding_open(b, &e->service, err);
    if (loaded)
        return loaded;
    bound *one = calloc(1, sizeof *one);
    if (!one)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for handler %s", binding_name(b));
    one->engine = e;
    one->binding = b;
    one->release = release;
    /* One function may be bound many times: its second binding is "demo.note#2". */
    (void)snprintf(one->name, sizeof one->name, "%.80s", binding_name(b));
    one->bound_as = binding_name(b);
    for (int k = 2; engine_has_part(e, one->name); k++)
        (void)snprintf(one->name, sizeof one->name, "%.80s#%d", binding_name(b), k);
    participant p = {.name = one->name,
                     .object = one->name,
                     .kind = KIND_HANDLER,
                     .plugin = binding_plugin(b),
                     .manifest = binding_manifest(b),
                     .calls = &bound_calls,
                     .self = one,
                     .on_error = binding_on_error(b),
                     .evaluates = binding_is_own(b),
                     .pass_index = -1};
    p.events = binding_events(b, &p.nevents);
    const tutti_status s = engine_add_object(e, &p, err);
    if (s != TUTTI_OK) {
        free(one);
        return s;
    }
    one->part = (uint32_t)(e->nparts - 1);
    one->next = e->bound;
    e->bound = one;
    if (e->options.one_rank && binding_is_of_one_rank(b))
        e->options.one_rank(e->options.ctx);
    return TUTTI_OK;
}

/* ---- handlers that plugins bind ---- */

static tutti_status accept_handler(engine *e, const char *json, tutti_error *err)
{
    json_doc *doc = NULL;
    faults *f = faults_create();
    tutti_status s = f ? json_parse("handler", json, strlen(json), &doc, err) : TUTTI_E_NOMEM;
    binding *b = s ? NULL : binding_read(e->hooks.registry, json_root(doc), f);
    if (!s && !b)
        s = tutti_fail(err, TUTTI_E_ARG, "%s",
                       faults_count(f) ? faults_text(f, 0) : "no memory for a handler");
    if (!s)
        s = engine_bind(e, b, err);
    if (!s) {
        e->bound->doc = doc;
    } else {
        binding_free(b);
        json_free(doc);
    }
    faults_destroy(f);
    return s;
}

void engine_accept_handlers(engine *e, registry *r)
{
    e->hooks.registry = r;
    e->hooks.accept = accept_handler;
}
