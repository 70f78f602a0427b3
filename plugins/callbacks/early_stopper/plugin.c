/* plugin.c - early_stopper: stops when a metric has not improved for a while. */
/* SPDX-License-Identifier: Apache-2.0 */
#define TUTTI_USE_MINOR 2
#define TUTTI_MIN_MINOR 0
#include "../monitor.h"
#include "tutti/stateful.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct early_stopper {
    monitor monitor;
    double min_delta;
    tutti_time patience;
    double best;          /* in checkpoints, as the next */
    int64_t best_time[2]; /* whether there is a best; when, in patience's unit */
} early_stopper;

static tutti_status early_stopper_open(const tutti_host *host, const tutti_params *params,
                                       void **ret_self, tutti_error *err)
{
    early_stopper *e = calloc(1, sizeof *e);
    if (!e)
        return tutti_fail(err, TUTTI_E_NOMEM, "early_stopper: no memory");
    const tutti_status s = monitor_open(&e->monitor, "early_stopper", host, params, err);
    if (s) {
        free(e);
        return s;
    }
    e->min_delta = tutti_param_f64(params, "min_delta");
    e->patience = tutti_param_time(params, "patience");
    *ret_self = e;
    return TUTTI_OK;
}

static tutti_status early_stopper_judge(early_stopper *e, const tutti_timestamp *time,
                                        tutti_error *err)
{
    double value;
    const tutti_status s = monitor_read(&e->monitor, &value, err);
    if (s)
        return s;
    const int64_t now = tutti_timestamp_get(time, e->patience.unit);
    if (!e->best_time[0] ||
        (monitor_better(&e->monitor, value, e->best) && fabs(value - e->best) > e->min_delta)) {
        e->best = value;
        e->best_time[0] = 1;
        e->best_time[1] = now;
    }
    if (now - e->best_time[1] > e->patience.count) {
        char text[256];
        const tutti_state_v1 *state = e->monitor.state;
        (void)snprintf(text, sizeof text,
                       "early_stopper: %s of %s has not been better than %.6g for more than "
                       "%lld%s",
                       e->monitor.metric, e->monitor.label, e->best,
                       (long long)e->patience.count,
                       e->patience.unit == TUTTI_UNIT_BATCH ? "ba" : "ep");
        state->stop_training(state->ctx, text);
    }
    return TUTTI_OK;
}

static tutti_status early_stopper_event(void *self, const tutti_event *event, tutti_error *err)
{
    early_stopper *e = self;
    if (event->id == TUTTI_EVENT_BATCH_END && e->patience.unit != TUTTI_UNIT_BATCH)
        return TUTTI_OK;
    return monitor_here(&e->monitor) ? early_stopper_judge(e, event->time, err) : TUTTI_OK;
}

static tutti_status early_stopper_items(void *self, tutti_state_item *items, uint32_t capacity,
                                        uint32_t *ret_count, tutti_error *err)
{
    early_stopper *e = self;
    (void)err;
    *ret_count = 2;
    if (capacity >= 2) {
        memset(items, 0, 2 * sizeof *items);
        (void)snprintf(items[0].name, sizeof items[0].name, "best");
        items[0].tensor.data = &e->best;
        items[0].tensor.desc.dtype = TUTTI_F64;
        (void)snprintf(items[1].name, sizeof items[1].name, "best_time");
        items[1].tensor.data = e->best_time;
        items[1].tensor.desc.dtype = TUTTI_I64;
        items[1].tensor.desc.rank = 1;
        items[1].tensor.desc.dim[0] = 2;
        items[0].tensor.device = items[1].tensor.device = TUTTI_DEVICE_CPU;
    }
    return TUTTI_OK;
}

static const void *early_stopper_query(void *self, const char *interface_id)
{
    static const tutti_stateful_v1 stateful = {.struct_size = sizeof stateful,
                                               .items = early_stopper_items};
    (void)self;
    return strcmp(interface_id, TUTTI_STATEFUL_V1) == 0 ? &stateful : NULL;
}

CALLBACK_PLUGIN("early_stopper", .open = early_stopper_open, .run_event = early_stopper_event,
                .close = callback_close, .query = early_stopper_query);
