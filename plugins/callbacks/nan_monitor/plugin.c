/* plugin.c - nan_monitor: stops the run when the training loss is not a number. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../callback.h"
#include "tutti/state.h"

#include <math.h>

static tutti_status monitor_open(const tutti_host *host, const tutti_params *params,
                                 void **ret_self, tutti_error *err)
{
    (void)params;
    const void *state = callback_service(host, "nan_monitor", TUTTI_STATE_V1, err);
    if (!state)
        return TUTTI_E_UNSUPPORTED;
    *ret_self = (void *)(uintptr_t)state; /* nothing else to remember */
    return TUTTI_OK;
}

static tutti_status monitor_event(void *self, const tutti_event *event, tutti_error *err)
{
    const tutti_state_v1 *state = self;
    tutti_tensor loss;
    (void)event;
    const tutti_status s = state->get(state->ctx, "loss", &loss, err);
    if (s)
        return s;
    const float *values = loss.data;
    for (int64_t k = 0; k < tutti_numel(&loss.desc); k++)
        if (isnan(values[k]))
            return tutti_fail(err, TUTTI_E_NUMERIC, "Train loss contains a NaN.");
    return TUTTI_OK;
}

static tutti_status monitor_close(void *self, tutti_error *err)
{
    (void)self;
    (void)err;
    return TUTTI_OK;
}

static const tutti_calls calls = {.struct_size = sizeof calls,
                                  .open = monitor_open,
                                  .run_event = monitor_event,
                                  .close = monitor_close};

CALLBACK_PLUGIN("nan_monitor", calls)
