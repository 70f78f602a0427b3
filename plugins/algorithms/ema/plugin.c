/* plugin.c - ema: evaluates and saves an exponential moving average of the weights. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../weight_average.h"

#include "tutti/checkpoint.h"

typedef struct ema {
    const tutti_host *host;
    const tutti_state_v1 *state;
    tutti_time start;
    int64_t interval;
    double smoothing;
    int32_t unit; /* of the update interval: batches or epochs */
    int32_t reserved;
    average average;
} ema;

/* What the manifest's ranges cannot say. */
static tutti_status ema_check(const tutti_params *params, tutti_error *err)
{
    const tutti_time half_life = tutti_param_time(params, "half_life");
    const tutti_time interval = tutti_param_time(params, "update_interval");
    const int32_t has_smoothing = tutti_param_is_set(params, "smoothing");
    if (half_life.unit && has_smoothing)
        return tutti_fail(err, TUTTI_E_ARG,
                          "ema: half_life and smoothing are both set, want one; half_life is "
                          "1000ba unless it is null");
    if (!half_life.unit && !has_smoothing)
        return tutti_fail(err, TUTTI_E_ARG,
                          "ema: neither half_life nor smoothing is set, want one");
    if (half_life.unit && half_life.count < 1)
        return tutti_fail(err, TUTTI_E_RANGE, "ema: half_life is %lld, want 1 or more",
                          (long long)half_life.count);
    if (interval.unit && interval.count < 1)
        return tutti_fail(err, TUTTI_E_RANGE, "ema: update_interval is %lld, want 1 or more",
                          (long long)interval.count);
    if (half_life.unit && interval.unit && half_life.unit != interval.unit)
        return tutti_fail(err, TUTTI_E_ARG,
                          "ema: half_life and update_interval are in different units, want "
                          "batches or epochs for both");
    return TUTTI_OK;
}

static tutti_status ema_open(const tutti_host *host, const tutti_params *params,
                             void **ret_self, tutti_error *err)
{
    const tutti_time half_life = tutti_param_time(params, "half_life");
    tutti_time interval = tutti_param_time(params, "update_interval");
    const tutti_state_v1 *state = algorithm_service(host, "ema", TUTTI_STATE_V1, err);
    if (!state)
        return TUTTI_E_UNSUPPORTED;
    if (!interval.unit) {
        interval.unit = half_life.unit ? half_life.unit : TUTTI_UNIT_BATCH;
        interval.count = 1;
    }
    ema *e = calloc(1, sizeof *e);
    if (!e)
        return tutti_fail(err, TUTTI_E_NOMEM, "ema: no memory");
    const tutti_status found = average_init(&e->average, host, "ema", err);
    if (found) {
        free(e);
        return found;
    }
    e->host = host;
    e->state = state;
    e->average.nflags = 2;
    e->start = tutti_param_time(params, "ema_start");
    e->unit = interval.unit;
    e->interval = interval.count;
    e->smoothing = half_life.unit ? exp2(-(double)interval.count / (double)half_life.count)
                                  : tutti_param_f64(params, "smoothing");
    *ret_self = e;
    return TUTTI_OK;
}

static tutti_status ema_close(void *self, tutti_error *err)
{
    ema *e = self;
    (void)err;
    average_fini(&e->average);
    free(e);
    return TUTTI_OK;
}

static int32_t ema_reached(const ema *e, const tutti_event *event)
{
    if (e->start.unit == TUTTI_UNIT_DURATION)
        return e->start.fraction <= 0.0 ||
               e->state->elapsed(e->state->ctx) >= e->start.fraction;
    return tutti_timestamp_get(event->time, e->start.unit) >= e->start.count;
}

static int32_t on_interval(const ema *e, const tutti_event *event)
{
    return tutti_timestamp_get(event->time, e->unit) % e->interval == 0;
}

static int32_t is_update(const ema *e, int32_t event)
{
    return event ==
           (e->unit == TUTTI_UNIT_EPOCH ? TUTTI_EVENT_EPOCH_END : TUTTI_EVENT_BATCH_END);
}

static int32_t ema_saving(const ema *e, int32_t event)
{
    const tutti_checkpoint_v1 *c = e->host->query(e->host->ctx, TUTTI_CHECKPOINT_V1);
    return c && c->due(c->ctx, event);
}

static int32_t ema_match(void *self, const tutti_event *event)
{
    const ema *e = self;
    const int32_t started = average_started(&e->average), active = average_active(&e->average);
    if (is_update(e, event->id))
        return started ? on_interval(e, event) : ema_reached(e, event);
    switch (event->id) {
    case TUTTI_EVENT_INIT:
        return 1;
    case TUTTI_EVENT_BEFORE_DATALOADER:
    case TUTTI_EVENT_EVAL_END:
        return active;
    case TUTTI_EVENT_EVAL_START:
        return started && !active;
    case TUTTI_EVENT_BATCH_CHECKPOINT:
    case TUTTI_EVENT_EPOCH_CHECKPOINT:
        return started && !active && ema_saving(e, event->id);
    default:
        return 0;
    }
}

/* The training weights go back into the model first: after a checkpoint it holds the average. */
static tutti_status ema_update(ema *e, const tutti_event *event, tutti_error *err)
{
    average *a = &e->average;
    tutti_status status = average_active(a) ? average_swap(a, err) : TUTTI_OK;
    if (status)
        return status;
    if (!average_started(a) && (status = average_start(a, err)))
        return status;
    return on_interval(e, event) ? average_update(a, e->smoothing, err) : TUTTI_OK;
}

static tutti_status ema_apply(void *self, const tutti_event *event, int64_t *ret_exit_code,
                              tutti_error *err)
{
    ema *e = self;
    (void)ret_exit_code;
    if (event->id == TUTTI_EVENT_INIT)
        return average_fit(&e->average, err);
    if (is_update(e, event->id))
        return ema_update(e, event, err);
    return average_swap(&e->average, err);
}

static tutti_status ema_items(void *self, tutti_state_item *list, uint32_t capacity,
                              uint32_t *ret_count, tutti_error *err)
{
    return average_items(&((ema *)self)->average, list, capacity, ret_count, err);
}

static const void *ema_query(void *self, const char *id)
{
    static const tutti_stateful_v1 table = {.struct_size = sizeof table, .items = ema_items};
    (void)self;
    return strcmp(id, TUTTI_STATEFUL_V1) == 0 ? &table : NULL;
}

static const tutti_calls calls = {.struct_size = sizeof calls,
                                  .open = ema_open,
                                  .match = ema_match,
                                  .apply = ema_apply,
                                  .close = ema_close,
                                  .query = ema_query};
static const tutti_object object =
    TUTTI_OBJECT_INIT_CHECKED("ema", TUTTI_KIND_ALGORITHM, &calls, ema_check);
static const tutti_object *const objects[] = {&object, NULL};
static const tutti_plugin plugin = TUTTI_PLUGIN_INIT("org.tutti.ema", "1.0.0", objects);

TUTTI_EXPORT const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)
{
    (void)host_abi;
    return &plugin;
}
