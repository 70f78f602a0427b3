/* surgery.h - finding the modules that an algorithm replaces, and telling how many there were. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_SURGERY_H
#define PLUGIN_SURGERY_H

#include "algorithm.h"

#include "tutti/log.h"
#include "tutti/metrics.h"
#include "tutti/module.h"

#include <stdio.h>

/* The modules of one kind, in the tree's order; the walk ends where surgery begins. */
typedef struct surgery {
    const tutti_module_v1 *s;
    tutti_module *list;
    uint32_t count;
    uint32_t reserved;
} surgery;

/* Whether `m` is below a module of `kind`, with whatever others between them. */
static inline int32_t surgery_is_within(const tutti_module_v1 *s, tutti_module m,
                                        const char *kind)
{
    for (tutti_module up = s->parent(s->ctx, m); up; up = s->parent(s->ctx, up))
        if (strcmp(s->kind(s->ctx, up), kind) == 0)
            return 1;
    return 0;
}

/* Those of `kind` below the root that are not within one of kind `within` (NULL: all), whatever other
 * surgery has put around them.  free(it.list). */
static inline tutti_status surgery_find(const tutti_host *host, const char *who,
                                        const char *kind, const char *within, surgery *ret,
                                        tutti_error *err)
{
    const tutti_module_v1 *s = algorithm_service(host, who, TUTTI_MODULE_V1, err);
    if (!s)
        return TUTTI_E_UNSUPPORTED;
    uint32_t n = 0;
    for (tutti_module m = s->root(s->ctx); m; m = s->next(s->ctx, m))
        n++;
    tutti_module *list = calloc((size_t)n + 1, sizeof *list);
    if (!list)
        return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory for %u modules", who, n);
    *ret = (surgery){s, list, 0, 0};
    for (tutti_module m = s->next(s->ctx, s->root(s->ctx)); m; m = s->next(s->ctx, m))
        if (strcmp(s->kind(s->ctx, m), kind) == 0 &&
            !(within && surgery_is_within(s, m, within)))
            list[ret->count++] = m;
    return TUTTI_OK;
}

/* The settings in `params` that are set, as attributes for a new module; returns how many. */
static inline uint32_t surgery_settings(const tutti_params *params, tutti_attr *attr,
                                        uint32_t capacity)
{
    uint32_t n = 0;
    for (uint32_t k = 0; params && k < params->count && n < capacity; k++) {
        const tutti_param *p = params->items[k];
        if (p->type == TUTTI_PARAM_FLOAT)
            attr[n++] = tutti_attr_f(p->name, p->f);
        else if (p->type != TUTTI_PARAM_NULL)
            attr[n++] = tutti_attr_i(p->name, p->i);
    }
    return n;
}

/* `m` becomes a module of `kind` (NULL: of its own) with these settings and keeps what it can. */
static inline tutti_status surgery_rebuild(const tutti_module_v1 *s, tutti_module m,
                                           const char *kind, const tutti_attr *attr,
                                           uint32_t nattr, tutti_error *err)
{
    if (!TUTTI_HAS(s, tutti_module_v1, rebuild))
        return tutti_fail(err, TUTTI_E_UNSUPPORTED,
                          "this host's " TUTTI_MODULE_V1 " cannot rebuild modules");
    return s->rebuild(s->ctx, m, kind, attr, nattr, err);
}

/* A module of `kind` takes the place of `m`, which becomes its child `name`. */
static inline tutti_status surgery_wrap(const tutti_module_v1 *s, tutti_module m,
                                        const char *kind, const tutti_attr *attr,
                                        uint32_t nattr, const char *name, tutti_error *err)
{
    tutti_module next;
    tutti_status status = s->create(s->ctx, kind, attr, nattr, &next, err);
    if (status || (status = s->replace(s->ctx, m, next, err)))
        return status;
    return s->add(s->ctx, next, name, m, err);
}

/* Logs how many there were as hyperparameter `name`, and `none` as a warning when there were none. */
static inline void surgery_report(const tutti_host *host, const char *name, uint32_t count,
                                  const char *none)
{
    const tutti_metrics_v1 *metrics = host->query(host->ctx, TUTTI_METRICS_V1);
    const tutti_log_v1 *log = host->query(host->ctx, TUTTI_LOG_V1);
    char text[16];
    (void)snprintf(text, sizeof text, "%u", count);
    if (metrics)
        metrics->hyperparameter(metrics->ctx, name, text);
    if (log && count == 0)
        log->write(log->ctx, TUTTI_LOG_WARNING, none);
}

/* Surgery happens on init. */
static inline int32_t surgery_match(void *self, const tutti_event *event)
{
    (void)self;
    return event->id == TUTTI_EVENT_INIT;
}

/* For algorithms and layers whose memory is one block. */
static inline tutti_status surgery_close(void *self, tutti_error *err)
{
    (void)err;
    free(self);
    return TUTTI_OK;
}

/* A layer's object out of its open, build, trace and close. */
#define SURGERY_LAYER(name, open_, build_, trace_, close_)                                     \
    static const void *surgery_query(void *self, const char *id)                               \
    {                                                                                          \
        static const tutti_layer_v1 table = {                                                  \
            .struct_size = sizeof table, .build = build_, .trace = trace_};                    \
        (void)self;                                                                            \
        return strcmp(id, TUTTI_LAYER_V1) == 0 ? &table : NULL;                                \
    }                                                                                          \
    static const tutti_calls layer_calls = {.struct_size = sizeof layer_calls,                 \
                                            .open = open_,                                     \
                                            .close = close_,                                   \
                                            .query = surgery_query};                           \
    const tutti_object name##_object = TUTTI_OBJECT_INIT(#name, TUTTI_KIND_LAYER, &layer_calls)

#endif
