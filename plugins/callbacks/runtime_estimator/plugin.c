/* plugin.c - runtime_estimator: logs how long the run will still take. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../callback.h"
#include "tutti/log.h"
#include "tutti/metrics.h"
#include "tutti/state.h"

#include <stdio.h>
#include <stdlib.h>

enum { MAX_EVALS = 64 };

/* One evaluation's times so far; the first is often slower and is left out once there are more. */
typedef struct eval_times {
    char label[64];
    double first;
    double rest;     /* seconds of all but the first */
    double interval; /* fraction of the run between two of them */
    int64_t count;
} eval_times;

typedef struct runtime_estimator {
    const tutti_host *host;
    const tutti_state_v1 *state;
    const tutti_metrics_v1 *metrics;
    const char *unit;
    double unit_s;
    int64_t skip; /* batches that are still to be skipped */
    int64_t start_ns;
    double start; /* fraction of the run at start_ns; -1 before */
    uint32_t nevals;
    int32_t disabled;
    eval_times evals[MAX_EVALS];
} runtime_estimator;

static tutti_status estimator_open(const tutti_host *host, const tutti_params *params,
                                   void **ret_self, tutti_error *err)
{
    static const double seconds[] = {1.0, 60.0, 3600.0, 86400.0}; /* as the manifest's values */
    const tutti_state_v1 *state =
        callback_service(host, "runtime_estimator", TUTTI_STATE_V1, err);
    const tutti_metrics_v1 *metrics =
        callback_service(host, "runtime_estimator", TUTTI_METRICS_V1, err);
    if (!state || !metrics)
        return TUTTI_E_UNSUPPORTED;
    runtime_estimator *e = calloc(1, sizeof *e);
    if (!e)
        return tutti_fail(err, TUTTI_E_NOMEM, "runtime_estimator: no memory");
    e->host = host;
    e->state = state;
    e->metrics = metrics;
    e->unit = tutti_param_str(params, "time_unit");
    e->unit_s = seconds[tutti_param_i64(params, "time_unit") & 3];
    e->skip = tutti_param_i64(params, "skip_batches");
    e->start = -1.0;
    *ret_self = e;
    return TUTTI_OK;
}

/* The elapsed fraction; with a duration in epochs counted in batches, so that it moves with each. */
static double runtime_estimator_elapsed(const runtime_estimator *e, const tutti_timestamp *t)
{
    const tutti_time *max = e->state->max_duration;
    if (max->unit == TUTTI_UNIT_EPOCH && max->count > 0) {
        const double per_epoch = t->epoch > 0
                                     ? (double)(t->batch - t->batch_in_epoch) / (double)t->epoch
                                     : (double)e->state->dataloader_len(e->state->ctx);
        if (per_epoch > 0.0)
            return (double)t->batch / ((double)max->count * per_epoch);
    }
    return e->state->elapsed(e->state->ctx);
}

static void give_up(runtime_estimator *e)
{
    const tutti_log_v1 *log = e->host->query(e->host->ctx, TUTTI_LOG_V1);
    e->disabled = 1;
    if (log)
        log->write(log->ctx, TUTTI_LOG_WARNING,
                   "runtime_estimator is off: nothing says how long the run will be");
}

static void runtime_estimator_begin(runtime_estimator *e, const tutti_timestamp *t)
{
    const double now = runtime_estimator_elapsed(e, t);
    if (e->skip > 0 || e->start >= 0.0)
        return;
    if (now < 0.0) {
        give_up(e);
        return;
    }
    e->start = now;
    e->start_ns = t->total_ns;
}

/* Seconds that the evaluations to come will take. */
static double evals_to_come(const runtime_estimator *e)
{
    double sum = 0.0;
    for (uint32_t k = 0; k < e->nevals; k++) {
        const eval_times *v = &e->evals[k];
        const double mean = v->count > 1 ? v->rest / (double)(v->count - 1) : v->first;
        const double left = v->interval > 0.0 ? 1.0 / v->interval - (double)v->count : 0.0;
        sum += left > 0.0 ? mean * left : 0.0;
    }
    return sum;
}

static void runtime_estimator_estimate(runtime_estimator *e, const tutti_timestamp *t)
{
    if (e->skip > 0) {
        e->skip--;
        return;
    }
    const double now = runtime_estimator_elapsed(e, t);
    if (e->start < 0.0 || !(now > e->start))
        return;
    const double rate = (double)(t->total_ns - e->start_ns) * 1e-9 / (now - e->start);
    const tutti_named_value v = {"time/remaining_estimate",
                                 (rate * (1.0 - now) + evals_to_come(e)) / e->unit_s};
    e->metrics->log(e->metrics->ctx, &v, 1);
}

static void note_eval(runtime_estimator *e, const tutti_event *event)
{
    const char *label = e->state->eval_label(e->state->ctx);
    const double seconds = (double)event->eval_time->total_ns * 1e-9;
    uint32_t k = 0;
    if (e->start < 0.0 || !label)
        return; /* before training, or on its own */
    while (k < e->nevals && strcmp(e->evals[k].label, label) != 0)
        k++;
    if (k == MAX_EVALS)
        return;
    eval_times *v = &e->evals[k];
    if (k == e->nevals) {
        e->nevals++;
        (void)snprintf(v->label, sizeof v->label, "%s", label);
        v->first = seconds;
    } else {
        v->rest += seconds;
    }
    v->count++;
    v->interval = runtime_estimator_elapsed(e, event->time) / (double)v->count;
}

static tutti_status estimator_event(void *self, const tutti_event *event, tutti_error *err)
{
    runtime_estimator *e = self;
    char json[16];
    (void)err;
    if (event->id == TUTTI_EVENT_INIT) {
        (void)snprintf(json, sizeof json, "\"%s\"", e->unit);
        e->metrics->hyperparameter(e->metrics->ctx, "time/remaining_estimate_unit", json);
    } else if (!e->disabled && event->id == TUTTI_EVENT_BATCH_START) {
        runtime_estimator_begin(e, event->time);
    } else if (!e->disabled && event->id == TUTTI_EVENT_BATCH_END) {
        runtime_estimator_estimate(e, event->time);
    } else if (!e->disabled) {
        note_eval(e, event);
    }
    return TUTTI_OK;
}

CALLBACK_PLUGIN("runtime_estimator", .open = estimator_open, .run_event = estimator_event,
                .close = callback_close);
