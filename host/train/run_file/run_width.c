/* run_width.c - how many participants of one kind hear an event. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/participant.h"
#include "train/run_file/run_reader.h"

typedef struct hearing {
    run_reader *reader;
    const char *kind;
    size_t count[ENGINE_EVENTS];
} hearing;

static const char *name_of_event(const hearing *h, int32_t event)
{
    const custom_event *own;
    const size_t n = registry_events(h->reader->registry, &own);
    const int32_t k = event - TUTTI_EVENT_CUSTOM;
    return k >= 0 && (size_t)k < n ? own[k].name : event_name(event);
}

/* One more hears `event`.  Told of once: the first that is too many. */
static void hear(hearing *h, const json_node *at, int32_t event)
{
    if (event >= 0 && event < ENGINE_EVENTS && h->count[event]++ == ENGINE_WIDTH)
        faults_add(h->reader->faults, at, "more than %d %ss hear %s", ENGINE_WIDTH, h->kind,
                   name_of_event(h, event));
}

static void hear_binding(hearing *h, const json_node *at, const binding *b)
{
    size_t n = 0;
    const int32_t *events = b ? binding_events(b, &n) : NULL;
    for (size_t k = 0; k < n; k++)
        hear(h, at, events[k]);
}

static void check_parts(run_reader *r, const char *kind, const run_parts *parts)
{
    hearing h = {.reader = r, .kind = kind};
    for (size_t k = 0; k < parts->count; k++) {
        const run_part *p = &parts->items[k];
        if (!p->object || !p->params)
            continue;
        const object_info *o = object_describe(p->object);
        for (size_t j = 0; o->events && j < o->nevents; j++)
            if (object_hears(p->object, j, p->params))
                hear(&h, p->at, o->events[j]);
    }
}

void run_check_width(run_reader *r, const json_node *root)
{
    const run_file *run = r->run;
    const binding_list *handlers = &run->observers.handlers;
    hearing h = {.reader = r, .kind = KIND_HANDLER};
    check_parts(r, TUTTI_KIND_ALGORITHM, &run->participants.algorithms);
    check_parts(r, TUTTI_KIND_CALLBACK, &run->participants.callbacks);
    check_parts(r, TUTTI_KIND_LOGGER, &run->participants.loggers);
    for (size_t k = 0; k < run->nevals; k++)
        hear_binding(&h, json_at(json_get(root, "eval"), k), run->evals[k].on);
    for (size_t k = 0; k < handlers->count; k++)
        hear_binding(&h, json_at(json_get(root, "handlers"), k), handlers->items[k]);
}
