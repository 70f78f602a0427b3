/* plugin.c - demo: functions that a run file binds to events, and an event of its own. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tutti/engine.h"
#include "tutti/log.h"
#include "tutti/metrics.h"
#include "tutti/state.h"

#include <stdio.h>

TUTTI_EXPORT tutti_status demo_note(const tutti_engine_v1 *engine, const char *metric,
                                    double limit, tutti_error *err);
TUTTI_EXPORT tutti_status demo_mark(const tutti_engine_v1 *engine, tutti_error *err);
TUTTI_EXPORT tutti_status demo_stop(const tutti_engine_v1 *engine, const char *reason,
                                    tutti_error *err);
TUTTI_EXPORT tutti_status demo_once_only(const tutti_engine_v1 *engine, const char *handler,
                                         const char *text, tutti_error *err);
TUTTI_EXPORT int32_t demo_is_prime(int64_t count, int64_t least, tutti_error *err);

/* The service, or NULL with the error told. */
static const void *demo_service(const tutti_engine_v1 *engine, const char *id, tutti_error *err)
{
    const void *table = engine->query(engine->ctx, id);
    if (!table)
        (void)tutti_fail(err, TUTTI_E_UNSUPPORTED, "demo: this host has no %s", id);
    return table;
}

tutti_status demo_note(const tutti_engine_v1 *engine, const char *metric, double limit,
                       tutti_error *err)
{
    const tutti_metrics_v1 *metrics = demo_service(engine, TUTTI_METRICS_V1, err);
    const tutti_log_v1 *log = demo_service(engine, TUTTI_LOG_V1, err);
    const tutti_event *event = engine->now(engine->ctx);
    double value;
    if (!metrics || !log)
        return TUTTI_E_UNSUPPORTED;
    const tutti_status s = metrics->get(metrics->ctx, metric, &value, err);
    if (s || value < limit)
        return s;
    char text[256];
    (void)snprintf(text, sizeof text, "%s at step %llu: %s is %.6g", event->name,
                   (unsigned long long)event->step, metric, value);
    log->write(log->ctx, TUTTI_LOG_INFO, text);
    return TUTTI_OK;
}

tutti_status demo_mark(const tutti_engine_v1 *engine, tutti_error *err)
{
    int64_t *milestones = engine->attribute(engine->ctx, "milestones");
    const int32_t milestone = engine->find(engine->ctx, "milestone");
    if (!milestones || milestone < 0)
        return tutti_fail(err, TUTTI_E_NOTFOUND, "demo: this run has no event milestone");
    ++*milestones;
    return engine->fire(engine->ctx, milestone, err);
}

tutti_status demo_stop(const tutti_engine_v1 *engine, const char *reason, tutti_error *err)
{
    const tutti_state_v1 *state = demo_service(engine, TUTTI_STATE_V1, err);
    if (!state)
        return TUTTI_E_UNSUPPORTED;
    state->stop_training(state->ctx, reason);
    return TUTTI_OK;
}

tutti_status demo_once_only(const tutti_engine_v1 *engine, const char *handler,
                            const char *text, tutti_error *err)
{
    const tutti_log_v1 *log = demo_service(engine, TUTTI_LOG_V1, err);
    if (!log)
        return TUTTI_E_UNSUPPORTED;
    log->write(log->ctx, TUTTI_LOG_INFO, text);
    if (!engine->remove_handler(engine->ctx, handler))
        return tutti_fail(err, TUTTI_E_NOTFOUND, "demo: no handler is called %s", handler);
    return TUTTI_OK;
}

int32_t demo_is_prime(int64_t count, int64_t least, tutti_error *err)
{
    (void)err;
    if (count < 2 || count < least)
        return 0;
    for (int64_t k = 2; k <= count / k; k++)
        if (count % k == 0)
            return 0;
    return 1;
}

static const tutti_object *const objects[] = {NULL};
static const tutti_plugin plugin = TUTTI_PLUGIN_INIT("org.tutti.demo", "1.0.0", objects);

const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)
{
    (void)host_abi;
    return &plugin;
}
