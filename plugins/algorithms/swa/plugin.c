/* plugin.c - swa: near the end of training the model becomes the mean of its own late weights. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../weight_average.h"

#include "tutti/log.h"

#include <math.h>
#include <stdio.h>

enum {
    FLAG_COMPLETED = AVERAGE_ACTIVE,
    FLAG_COUNTER,  /* ends of batches or epochs since the start */
    FLAG_AVERAGED, /* weights in the mean */
    FLAGS,
    MAX_GROUPS = 64 /* of the optimizer */
};
enum { ANNEAL_LINEAR }; /* as the manifest's values; the others are the cosine */

typedef struct swa {
    const tutti_host *host;
    const tutti_state_v1 *state;
    tutti_time start;
    tutti_time end;
    int64_t interval;
    int32_t unit; /* of the interval: batches or epochs */
    int32_t schedule_lr;
    int64_t strategy;
    int64_t anneal_steps;
    double swa_lr;         /* NaN: what the schedule gave at the start */
    double lr[MAX_GROUPS]; /* at the start */
    average average;
} swa;

static double swa_number(const tutti_time *t)
{
    return t->unit == TUTTI_UNIT_DURATION ? t->fraction : (double)t->count;
}

/* What the manifest's ranges cannot say. */
static tutti_status swa_check(const tutti_params *params, tutti_error *err)
{
    const tutti_time start = tutti_param_time(params, "swa_start");
    const tutti_time end = tutti_param_time(params, "swa_end");
    const tutti_time interval = tutti_param_time(params, "update_interval");
    if (start.unit != end.unit)
        return tutti_fail(err, TUTTI_E_ARG,
                          "swa: swa_start and swa_end are in different units, want dur or ep "
                          "for both");
    if (swa_number(&start) < 0.0 || swa_number(&start) >= swa_number(&end))
        return tutti_fail(
            err, TUTTI_E_RANGE,
            "swa: swa_start is %g and swa_end is %g, want a start of 0 or more and "
            "below the end",
            swa_number(&start), swa_number(&end));
    if (end.unit == TUTTI_UNIT_DURATION && end.fraction > 1.0)
        return tutti_fail(err, TUTTI_E_RANGE, "swa: swa_end is %gdur, want 1dur or less",
                          end.fraction);
    if (interval.count < 1)
        return tutti_fail(err, TUTTI_E_RANGE, "swa: update_interval is %lld, want 1 or more",
                          (long long)interval.count);
    return TUTTI_OK;
}

static tutti_status swa_open(const tutti_host *host, const tutti_params *params,
                             void **ret_self, tutti_error *err)
{
    const tutti_time start = tutti_param_time(params, "swa_start");
    const tutti_time end = tutti_param_time(params, "swa_end");
    const tutti_time interval = tutti_param_time(params, "update_interval");
    const tutti_state_v1 *state = algorithm_service(host, "swa", TUTTI_STATE_V1, err);
    if (!state)
        return TUTTI_E_UNSUPPORTED;
    const int32_t schedule = tutti_param_i64(params, "schedule_swa_lr") != 0;
    average made = {.nflags = FLAGS};
    const tutti_status found = average_init(&made, host, "swa", err);
    if (found)
        return found;
    if (schedule && !TUTTI_HAS(made.weights, tutti_weights_v1, set_lr))
        return tutti_fail(err, TUTTI_E_UNSUPPORTED,
                          "swa: this host has no learning rates to set for schedule_swa_lr");
    swa *s = calloc(1, sizeof *s);
    if (!s)
        return tutti_fail(err, TUTTI_E_NOMEM, "swa: no memory");
    s->host = host;
    s->state = state;
    s->start = start;
    s->end = end;
    s->interval = interval.count;
    s->unit = interval.unit;
    s->schedule_lr = schedule;
    s->strategy = tutti_param_i64(params, "anneal_strategy");
    s->anneal_steps = tutti_param_i64(params, "anneal_steps");
    s->swa_lr =
        tutti_param_is_set(params, "swa_lr") ? tutti_param_f64(params, "swa_lr") : (double)NAN;
    s->average = made;
    *ret_self = s;
    return TUTTI_OK;
}

static tutti_status swa_close(void *self, tutti_error *err)
{
    swa *s = self;
    (void)err;
    average_fini(&s->average);
    free(s);
    return TUTTI_OK;
}

static int32_t swa_reached(const swa *s, const tutti_time *when, const tutti_event *event)
{
    if (when->unit == TUTTI_UNIT_DURATION)
        return s->state->elapsed(s->state->ctx) >= when->fraction;
    return tutti_timestamp_get(event->time, when->unit) >= when->count;
}

static int32_t swa_match(void *self, const tutti_event *event)
{
    const swa *s = self;
    const int64_t *flags = s->average.flags;
    if (event->id == TUTTI_EVENT_INIT)
        return 1;
    if (flags[FLAG_COMPLETED])
        return 0;
    if (event->id == TUTTI_EVENT_BATCH_START)
        return s->schedule_lr && flags[AVERAGE_STARTED];
    if (event->id ==
        (s->unit == TUTTI_UNIT_EPOCH ? TUTTI_EVENT_EPOCH_END : TUTTI_EVENT_BATCH_END))
        return swa_reached(s, &s->start, event);
    return 0;
}

static uint32_t swa_groups(const swa *s)
{
    const tutti_weights_v1 *w = s->average.weights;
    const uint32_t n = w->groups(w->ctx);
    return n < MAX_GROUPS ? n : MAX_GROUPS;
}

/* From the rate at the start to swa_lr in anneal_steps updates. */
static void set_rates(const swa *s)
{
    const tutti_weights_v1 *w = s->average.weights;
    double t = (double)s->average.flags[FLAG_AVERAGED] / (double)s->anneal_steps;
    t = t < 1.0 ? t : 1.0;
    if (s->strategy != ANNEAL_LINEAR)
        t = (1.0 - cos(acos(-1.0) * t)) / 2.0;
    for (uint32_t k = 0; k < swa_groups(s); k++) {
        const double to = isnan(s->swa_lr) ? s->lr[k] : s->swa_lr;
        w->set_lr(w->ctx, k, s->lr[k] + t * (to - s->lr[k]));
    }
}

static tutti_status swa_init(swa *s, tutti_error *err)
{
    const tutti_log_v1 *log = s->host->query(s->host->ctx, TUTTI_LOG_V1);
    if (log && s->end.unit == TUTTI_UNIT_DURATION && s->end.fraction >= 1.0)
        log->write(log->ctx, TUTTI_LOG_WARNING,
                   "swa_end is 1dur: no training is left in which batch norm could fit its "
                   "statistics to the mean weights");
    return average_fit(&s->average, err);
}

/* mean += (weights - mean) / (number + 1) */
static tutti_status swa_update(swa *s, const tutti_event *event, tutti_error *err)
{
    int64_t *flags = s->average.flags;
    tutti_status status = TUTTI_OK;
    if (!flags[AVERAGE_STARTED]) {
        const tutti_weights_v1 *w = s->average.weights;
        if ((status = average_start(&s->average, err)))
            return status;
        for (uint32_t k = 0; k < swa_groups(s); k++)
            s->lr[k] = w->lr(w->ctx, k);
    }
    if (flags[FLAG_COUNTER] % s->interval == 0) {
        if ((status = average_mean(&s->average, 1.0 / (double)(flags[FLAG_AVERAGED] + 1), err)))
            return status;
        flags[FLAG_AVERAGED]++;
    }
    flags[FLAG_COUNTER]++;
    if (!swa_reached(s, &s->end, event))
        return TUTTI_OK;
    flags[FLAG_COMPLETED] = 1;
    return average_load(&s->average, err);
}

static tutti_status swa_apply(void *self, const tutti_event *event, int64_t *ret_exit_code,
                              tutti_error *err)
{
    swa *s = self;
    (void)ret_exit_code;
    if (event->id == TUTTI_EVENT_INIT)
        return swa_init(s, err);
    if (event->id != TUTTI_EVENT_BATCH_START)
        return swa_update(s, event, err);
    set_rates(s);
    return TUTTI_OK;
}

/* The average's items, then the learning rates. */
static tutti_status swa_items(void *self, tutti_state_item *list, uint32_t capacity,
                              uint32_t *ret_count, tutti_error *err)
{
    swa *s = self;
    uint32_t n = 0;
    const tutti_status status =
        average_items(&s->average, list, capacity ? capacity - 1 : 0, &n, err);
    if (status)
        return status;
    if (capacity > n) {
        const tutti_desc d = {{MAX_GROUPS}, 1, TUTTI_F64};
        memset(&list[n], 0, sizeof list[n]);
        (void)snprintf(list[n].name, sizeof list[n].name, "lr");
        list[n].tensor = (tutti_tensor){s->lr, d, TUTTI_DEVICE_CPU, 0};
    }
    *ret_count = n + 1;
    return TUTTI_OK;
}

static const void *swa_query(void *self, const char *id)
{
    static const tutti_stateful_v1 table = {.struct_size = sizeof table, .items = swa_items};
    (void)self;
    return strcmp(id, TUTTI_STATEFUL_V1) == 0 ? &table : NULL;
}

ALGORITHM_PLUGIN_CHECKED("swa", swa_check, .open = swa_open, .match = swa_match,
                         .apply = swa_apply, .close = swa_close, .query = swa_query);
