/* plugin.c - threshold_stopper: stops when a metric has got past a threshold. */
/* SPDX-License-Identifier: Apache-2.0 */
#define TUTTI_USE_MINOR 2
#define TUTTI_MIN_MINOR 0
#include "../monitor.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct threshold_stopper {
    monitor monitor;
    double threshold;
    bool stop_on_batch;
} threshold_stopper;

static tutti_status threshold_stopper_open(const tutti_host *host, const tutti_params *params,
                                           void **ret_self, tutti_error *err)
{
    threshold_stopper *e = calloc(1, sizeof *e);
    if (!e)
        return tutti_fail(err, TUTTI_E_NOMEM, "threshold_stopper: no memory");
    const tutti_status s = monitor_open(&e->monitor, "threshold_stopper", host, params, err);
    if (s) {
        free(e);
        return s;
    }
    e->threshold = tutti_param_f64(params, "threshold");
    e->stop_on_batch = tutti_param_i64(params, "stop_on_batch") != 0;
    *ret_self = e;
    return TUTTI_OK;
}

static tutti_status threshold_stopper_event(void *self, const tutti_event *event,
                                            tutti_error *err)
{
    threshold_stopper *e = self;
    double value;
    if ((event->id == TUTTI_EVENT_BATCH_END && !e->stop_on_batch) || !monitor_here(&e->monitor))
        return TUTTI_OK;
    const tutti_status s = monitor_read(&e->monitor, &value, err);
    if (s)
        return s;
    if (monitor_better(&e->monitor, value, e->threshold)) {
        char text[256];
        const tutti_state_v1 *state = e->monitor.state;
        (void)snprintf(text, sizeof text, "threshold_stopper: %s of %s is %.6g, past %.6g",
                       e->monitor.metric, e->monitor.label, value, e->threshold);
        state->stop_training(state->ctx, text);
    }
    return TUTTI_OK;
}

CALLBACK_PLUGIN("threshold_stopper", .open = threshold_stopper_open,
                .run_event = threshold_stopper_event, .close = callback_close);
