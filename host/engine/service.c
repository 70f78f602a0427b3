/* service.c - custom events, what handlers count, and tutti.engine/1. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/participant.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MAX_DEPTH = 8 };

/* ---- names ---- */

int32_t engine_find_event(const engine *e, const char *name)
{
    for (size_t k = 0; name && k < e->options.nevents; k++)
        if (strcasecmp(e->options.events[k].name, name) == 0)
            return TUTTI_EVENT_CUSTOM + (int32_t)k;
    return event_find(name);
}

const char *engine_event_name(const engine *e, int32_t event)
{
    const int32_t own = event - TUTTI_EVENT_CUSTOM;
    return own >= 0 && (size_t)own < e->options.nevents ? e->options.events[own].name
                                                        : event_name(event);
}

static attribute *find_attribute(engine *e, const char *name)
{
    for (size_t k = 0; name && k < e->nattributes; k++)
        if (strcmp(e->attributes[k].name, name) == 0)
            return &e->attributes[k];
    return NULL;
}

tutti_status engine_name_events(engine *e, tutti_error *err)
{
    const engine_options *o = &e->options;
    if (o->nevents > ENGINE_EVENTS - TUTTI_EVENT_CUSTOM)
        return tutti_fail(err, TUTTI_E_RANGE, "%zu custom events, want at most %d", o->nevents,
                          ENGINE_EVENTS - TUTTI_EVENT_CUSTOM);
    e->attributes = calloc(o->nevents + 1, sizeof *e->attributes);
    if (!e->attributes)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for custom events");
    for (int32_t event = 0; event < ENGINE_EVENTS; event++)
        e->slots[event].event = (tutti_event){.struct_size = (uint32_t)sizeof(tutti_event),
                                              .id = event,
                                              .name = engine_event_name(e, event),
                                              .time = o->time,
                                              .eval_time = o->eval_time};
    for (size_t k = 0; k < o->nevents; k++) {
        const char *name = o->events[k].attribute;
        if (name && !find_attribute(e, name))
            e->attributes[e->nattributes++].name = name;
        if (name)
            e->slots[TUTTI_EVENT_CUSTOM + k].attribute = &find_attribute(e, name)->value;
    }
    return TUTTI_OK;
}

/* ---- counts ---- */

int64_t engine_event_count(const engine *e, int32_t event)
{
    const tutti_timestamp *t = e->options.time, *eval = e->options.eval_time;
    switch (event) {
    case TUTTI_EVENT_EPOCH_START:
    case TUTTI_EVENT_EPOCH_STARTED:
        return t->epoch + 1;
    case TUTTI_EVENT_EPOCH_END:
    case TUTTI_EVENT_EPOCH_CHECKPOINT:
    case TUTTI_EVENT_EPOCH_COMPLETED:
    case TUTTI_EVENT_STARTED:
    case TUTTI_EVENT_COMPLETED:
        return t->epoch;
    case TUTTI_EVENT_ITERATION_START:
        return t->iteration + 1;
    case TUTTI_EVENT_ITERATION_END:
    case TUTTI_EVENT_ITERATION_CHECKPOINT:
        return t->iteration;
    case TUTTI_EVENT_BEFORE_DATALOADER:
    case TUTTI_EVENT_AFTER_DATALOADER:
    case TUTTI_EVENT_BATCH_START:
    case TUTTI_EVENT_BEFORE_TRAIN_BATCH:
    case TUTTI_EVENT_BEFORE_FORWARD:
    case TUTTI_EVENT_AFTER_FORWARD:
    case TUTTI_EVENT_BEFORE_LOSS:
    case TUTTI_EVENT_AFTER_LOSS:
    case TUTTI_EVENT_BEFORE_BACKWARD:
    case TUTTI_EVENT_AFTER_BACKWARD:
    case TUTTI_EVENT_AFTER_TRAIN_BATCH:
    case TUTTI_EVENT_ITERATION_STARTED:
        return t->batch + 1;
    case TUTTI_EVENT_BATCH_END:
    case TUTTI_EVENT_BATCH_CHECKPOINT:
    case TUTTI_EVENT_GET_BATCH_STARTED: /* Ignite's iteration is one lower until the batch is there */
    case TUTTI_EVENT_GET_BATCH_COMPLETED:
    case TUTTI_EVENT_ITERATION_COMPLETED:
        return t->batch;
    case TUTTI_EVENT_EVAL_BATCH_START:
    case TUTTI_EVENT_EVAL_BEFORE_FORWARD:
    case TUTTI_EVENT_EVAL_AFTER_FORWARD:
    case TUTTI_EVENT_PREDICT_BATCH_START:
    case TUTTI_EVENT_PREDICT_BEFORE_FORWARD:
    case TUTTI_EVENT_PREDICT_AFTER_FORWARD:
        return eval->batch + 1;
    case TUTTI_EVENT_EVAL_BATCH_END:
    case TUTTI_EVENT_PREDICT_BATCH_END:
        return eval->batch;
    default:
        if (event < 0 || event >= ENGINE_EVENTS)
            return 0;
        return e->slots[event].attribute ? *e->slots[event].attribute : e->slots[event].fires;
    }
}

void engine_count_by(engine *e, const int64_t *(*counter)(void *ctx, int32_t event), void *ctx)
{
    e->counter = counter;
    e->counter_ctx = ctx;
}

const int64_t *engine_filter_count(const engine *e, int32_t event, int64_t *own)
{
    if (e->counter)
        return e->counter(e->counter_ctx, event);
    *own = engine_event_count(e, event);
    return own;
}

int64_t *engine_event_attribute(engine *e, int32_t event)
{
    return event >= 0 && event < ENGINE_EVENTS ? e->slots[event].attribute : NULL;
}

/* ---- handlers ---- */

bool engine_has_part(const engine *e, const char *name)
{
    for (size_t k = 0; k < e->nparts; k++)
        if (e->parts[k].class == CLASS_HANDLER && strcmp(e->parts[k].name, name) == 0)
            return true;
    return false;
}

/* The next one from `b` on that is still called and has this name, or shares it. */
static bound *find_bound(const engine *e, bound *b, const char *name)
{
    while (b && (e->parts[b->part].disabled ||
                 (strcmp(b->name, name) != 0 && strcmp(b->bound_as, name) != 0)))
        b = b->next;
    return b;
}

void engine_release_bound(engine *e)
{
    while (e->bound) {
        bound *next = e->bound->next;
        e->bound->release(e->bound->binding);
        free(e->bound);
        e->bound = next;
    }
}

/* ---- tutti.engine/1 ---- */

static int32_t service_find(void *ctx, const char *name)
{
    return engine_find_event(ctx, name);
}

static tutti_status service_fire(void *ctx, int32_t event, tutti_error *err)
{
    engine *e = ctx;
    const int32_t own = event - TUTTI_EVENT_CUSTOM;
    if (own < 0 || (size_t)own >= e->options.nevents)
        return tutti_fail(err, TUTTI_E_ARG,
                          "event %d (%s) is not of a manifest, so plugins cannot fire it",
                          event, engine_event_name(e, event));
    if (e->depth == MAX_DEPTH)
        return tutti_fail(err, TUTTI_E_STATE,
                          "%s goes round: it is fired inside %d other events",
                          engine_event_name(e, event), MAX_DEPTH);
    e->depth++;
    const tutti_status s = engine_run_event(e, event, err);
    e->depth--;
    return s;
}

static const tutti_event *service_now(void *ctx)
{
    return crash_breadcrumb.at;
}

static int64_t *service_attribute(void *ctx, const char *name)
{
    attribute *a = find_attribute(ctx, name);
    return a ? &a->value : NULL;
}

static const void *service_query(void *ctx, const char *interface_id)
{
    const engine *e = ctx;
    if (strcmp(interface_id, TUTTI_ENGINE_V1) == 0)
        return &e->service;
    return e->options.query ? e->options.query(e->options.ctx, interface_id) : NULL;
}

static int32_t service_has_handler(void *ctx, const char *name)
{
    const engine *e = ctx;
    return find_bound(e, e->bound, name) != NULL;
}

static int32_t service_remove_handler(void *ctx, const char *name)
{
    engine *e = ctx;
    int32_t found = 0;
    for (bound *b = find_bound(e, e->bound, name); b; b = find_bound(e, b->next, name)) {
        engine_disable(e, b->part);
        found = 1;
    }
    return found;
}

const tutti_engine_v1 *engine_service(engine *e)
{
    e->service = (tutti_engine_v1){.struct_size = (uint32_t)sizeof e->service,
                                   .ctx = e,
                                   .find = service_find,
                                   .fire = service_fire,
                                   .now = service_now,
                                   .attribute = service_attribute,
                                   .query = service_query,
                                   .has_handler = service_has_handler,
                                   .remove_handler = service_remove_handler};
    return &e->service;
}
