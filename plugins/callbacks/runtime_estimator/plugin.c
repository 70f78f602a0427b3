/* plugin.c - runtime_estimator: logs how long the run will still take. */
/* SPDX-License-Identifier: Apache-2.0 */
#define TUTTI_USE_MINOR 2
#define TUTTI_MIN_MINOR 0
#include "../callback.h"
#include "tutti/log.h"
#include "tutti/metrics.h"
#include "tutti/state.h"
#include "tutti/stateful.h"

#include <stdio.h>
#include <stdlib.h>

enum { MAX_EVALS = 64, LABEL_SIZE = 64 };

/* One evaluation's times in this process; the first is often slower and is left out once there are more. */
typedef struct eval_times {
    double first;
    double rest;     /* seconds of all but the first */
    double interval; /* fraction of the run between two of them */
    int64_t timed;
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
    char labels[MAX_EVALS][LABEL_SIZE]; /* in checkpoints, as the next; "" behind the last */
    int64_t counts[MAX_EVALS];          /* in the whole run */
} runtime_estimator;

static tutti_status runtime_estimator_open(const tutti_host *host, const tutti_params *params,
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
        const double mean = v->timed > 1 ? v->rest / (double)(v->timed - 1) : v->first;
        const double left = v->interval > 0.0 ? 1.0 / v->interval - (double)e->counts[k] : 0.0;
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

static void add_seconds(eval_times *v, double seconds)
{
    if (v->timed)
        v->rest += seconds;
    else
        v->first = seconds;
    v->timed++;
}

/* How often it comes is known from the whole run, how long it takes from what this process has measured. */
static void note_eval(runtime_estimator *e, const tutti_event *event)
{
    const char *label = e->state->eval_label(e->state->ctx);
    uint32_t k = 0;
    if (event->time->batch == 0 || !label || tutti_eval_is_cut(e->state))
        return; /* before training, on its own, or done again when the run goes on */
    while (k < e->nevals && strncmp(e->labels[k], label, LABEL_SIZE - 1) != 0)
        k++;
    if (k == MAX_EVALS)
        return;
    if (k == e->nevals)
        (void)snprintf(e->labels[e->nevals++], LABEL_SIZE, "%s", label);
    e->counts[k]++;
    if (e->start >= 0.0)
        add_seconds(&e->evals[k], (double)event->eval_time->total_ns * 1e-9);
    e->evals[k].interval = runtime_estimator_elapsed(e, event->time) / (double)e->counts[k];
}

static tutti_status runtime_estimator_event(void *self, const tutti_event *event,
                                            tutti_error *err)
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

static tutti_status runtime_estimator_items(void *self, tutti_state_item *items,
                                            uint32_t capacity, uint32_t *ret_count,
                                            tutti_error *err)
{
    runtime_estimator *e = self;
    (void)err;
    *ret_count = 2;
    if (capacity >= 2) {
        memset(items, 0, 2 * sizeof *items);
        (void)snprintf(items[0].name, sizeof items[0].name, "labels");
        items[0].tensor = (tutti_tensor){
            e->labels, {{MAX_EVALS, LABEL_SIZE}, 2, TUTTI_U8}, TUTTI_DEVICE_CPU, 0};
        (void)snprintf(items[1].name, sizeof items[1].name, "counts");
        items[1].tensor =
            (tutti_tensor){e->counts, {{MAX_EVALS}, 1, TUTTI_I64}, TUTTI_DEVICE_CPU, 0};
    }
    return TUTTI_OK;
}

static tutti_status runtime_estimator_restored(void *self, tutti_error *err)
{
    runtime_estimator *e = self;
    (void)err;
    for (e->nevals = 0; e->nevals < MAX_EVALS && e->labels[e->nevals][0]; e->nevals++)
        e->labels[e->nevals][LABEL_SIZE - 1] = '\0';
    return TUTTI_OK;
}

static const void *runtime_estimator_query(void *self, const char *interface_id)
{
    static const tutti_stateful_v1 stateful = {.struct_size = sizeof stateful,
                                               .items = runtime_estimator_items,
                                               .restored = runtime_estimator_restored,
                                               .flags = TUTTI_STATEFUL_MAY_BE_NEW};
    (void)self;
    return strcmp(interface_id, TUTTI_STATEFUL_V1) == 0 ? &stateful : NULL;
}

CALLBACK_PLUGIN("runtime_estimator", .open = runtime_estimator_open,
                .run_event = runtime_estimator_event, .close = callback_close,
                .query = runtime_estimator_query);
