/* plugin.c - lr_monitor: logs every group's learning rate. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../callback.h"
#include "tutti/metrics.h"
#include "tutti/weights.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct lr_monitor {
    const tutti_metrics_v1 *metrics;
    const tutti_weights_v1 *weights;
} lr_monitor;

static tutti_status lr_monitor_open(const tutti_host *host, const tutti_params *params,
                                    void **ret_self, tutti_error *err)
{
    (void)params;
    const tutti_metrics_v1 *metrics =
        callback_service(host, "lr_monitor", TUTTI_METRICS_V1, err);
    const tutti_weights_v1 *weights =
        callback_service(host, "lr_monitor", TUTTI_WEIGHTS_V1, err);
    if (!metrics || !weights)
        return TUTTI_E_UNSUPPORTED;
    lr_monitor *m = malloc(sizeof *m);
    if (!m)
        return tutti_fail(err, TUTTI_E_NOMEM, "lr_monitor: no memory");
    m->metrics = metrics;
    m->weights = weights;
    *ret_self = m;
    return TUTTI_OK;
}

static tutti_status lr_monitor_event(void *self, const tutti_event *event, tutti_error *err)
{
    const lr_monitor *m = self;
    (void)event;
    (void)err;
    const tutti_weights_v1 *w = m->weights;
    for (uint32_t k = 0; k < w->groups(w->ctx); k++) {
        char name[128];
        (void)snprintf(name, sizeof name, "lr-%s/group%u", w->optimizer(w->ctx), k);
        const tutti_named_value v = {name, w->lr(w->ctx, k)};
        m->metrics->log(m->metrics->ctx, &v, 1);
    }
    return TUTTI_OK;
}

CALLBACK_PLUGIN("lr_monitor", .open = lr_monitor_open, .run_event = lr_monitor_event,
                .close = callback_close);
