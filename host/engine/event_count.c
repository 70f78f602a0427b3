/* event_count.c - an engine's events: names, attributes of manifests' events, what filters count. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/engine_internal.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

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

attribute *engine_find_attribute(engine *e, const char *name)
{
    for (size_t k = 0; name && k < e->attributes.count; k++)
        if (strcmp(e->attributes.items[k].name, name) == 0)
            return &e->attributes.items[k];
    return NULL;
}

tutti_status engine_name_events(engine *e, tutti_error *err)
{
    const engine_options *o = &e->options;
    if (o->nevents > ENGINE_EVENTS - TUTTI_EVENT_CUSTOM)
        return tutti_fail(err, TUTTI_E_RANGE, "%zu custom events, want at most %d", o->nevents,
                          ENGINE_EVENTS - TUTTI_EVENT_CUSTOM);
    e->attributes.items = calloc(o->nevents + 1, sizeof *e->attributes.items);
    if (!e->attributes.items)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for custom events");
    for (int32_t event = 0; event < ENGINE_EVENTS; event++)
        e->slots[event].event = (tutti_event){.struct_size = (uint32_t)sizeof(tutti_event),
                                              .id = event,
                                              .name = engine_event_name(e, event),
                                              .time = o->time,
                                              .eval_time = o->eval_time};
    for (size_t k = 0; k < o->nevents; k++) {
        const char *name = o->events[k].attribute;
        if (name && !engine_find_attribute(e, name))
            e->attributes.items[e->attributes.count++].name = name;
        if (name)
            e->slots[TUTTI_EVENT_CUSTOM + k].attribute = &engine_find_attribute(e, name)->value;
    }
    return TUTTI_OK;
}

int32_t engine_events(const engine *e)
{
    return TUTTI_EVENT_CUSTOM + (int32_t)e->options.nevents;
}

int64_t *engine_own_count(engine *e, int32_t event)
{
    switch (event) {
    case TUTTI_EVENT_EVAL_BEFORE_ALL:
    case TUTTI_EVENT_EVAL_START:
    case TUTTI_EVENT_EVAL_END:
    case TUTTI_EVENT_EVAL_AFTER_ALL:
    case TUTTI_EVENT_DATALOADER_STOP_ITERATION:
        return &e->slots[event].fires;
    default:
        if (event < TUTTI_EVENT_CUSTOM || event >= engine_events(e))
            return NULL;
        return e->slots[event].attribute ? e->slots[event].attribute : &e->slots[event].fires;
    }
}

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
    e->hooks.counter = counter;
    e->hooks.counter_ctx = ctx;
}

const int64_t *engine_filter_count(const engine *e, int32_t event, int64_t *own)
{
    if (e->hooks.counter)
        return e->hooks.counter(e->hooks.counter_ctx, event);
    *own = engine_event_count(e, event);
    return own;
}

int64_t *engine_event_attribute(engine *e, int32_t event)
{
    return event >= 0 && event < ENGINE_EVENTS ? e->slots[event].attribute : NULL;
}
