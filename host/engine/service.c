/* service.c - tutti.engine/1, which handlers get. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/engine_internal.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 8 };

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
        e->bound->release(e->bound);
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
    attribute *a = engine_find_attribute(ctx, name);
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

static tutti_status service_add_handler(void *ctx, const char *json, tutti_error *err)
{
    engine *e = ctx;
    if (!e->hooks.accept)
        return tutti_fail(err, TUTTI_E_UNSUPPORTED, "this run takes no more handlers");
    return e->hooks.accept(e, json, err);
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
                                   .remove_handler = service_remove_handler,
                                   .add_handler = service_add_handler};
    return &e->service;
}
