/* plugin.c - nan_monitor: stops the run when the training loss is not a number. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../callback.h"
#include "tutti/device_view.h"
#include "tutti/kernel.h"

#include <math.h>
#include <stdlib.h>

typedef struct nan_monitor {
    const tutti_device_view_v1 *view;
    const tutti_kernel_v1 *kernels;
    void *found; /* where the loss is: one i32, not 0 once there was a NaN */
    uint32_t kernel;
    uint32_t reserved;
} nan_monitor;

/* The manifest's kernel. */
TUTTI_EXPORT void nan_find_cpu(const float *loss, int32_t *found, int64_t n);

void nan_find_cpu(const float *loss, int32_t *found, int64_t n)
{
    for (int64_t k = 0; k < n; k++)
        if (isnan(loss[k]))
            *found = 1;
}

static tutti_status nan_monitor_open(const tutti_host *host, const tutti_params *params,
                                     void **ret_self, tutti_error *err)
{
    (void)params;
    nan_monitor m = {callback_service(host, "nan_monitor", TUTTI_DEVICE_VIEW_V1, err),
                     callback_service(host, "nan_monitor", TUTTI_KERNEL_V1, err), NULL, 0, 0};
    if (!m.view || !m.kernels)
        return TUTTI_E_UNSUPPORTED;
    tutti_status s = m.kernels->find(m.kernels->ctx, "nan_find", &m.kernel, err);
    if (s || (s = m.view->take(m.view->ctx, sizeof(int32_t), &m.found, err)))
        return s;
    nan_monitor *self = malloc(sizeof *self);
    if (!self) {
        m.view->give(m.view->ctx, m.found);
        return tutti_fail(err, TUTTI_E_NOMEM, "nan_monitor: no memory");
    }
    *self = m;
    *ret_self = self;
    return TUTTI_OK;
}

static tutti_status nan_monitor_look(const nan_monitor *m, tutti_error *err)
{
    tutti_tensor loss;
    const tutti_status s = m->view->get(m->view->ctx, "loss", &loss, err);
    if (s)
        return s;
    int64_t n = tutti_numel(&loss.desc);
    void *found = m->found, *args[] = {&loss.data, &found, &n};
    return m->kernels->launch(m->kernels->ctx, m->kernel, args, 3, err);
}

/* Nobody waits for a loss; what is on its way is waited for at the end of an epoch. */
static tutti_status nan_monitor_event(void *self, const tutti_event *event, tutti_error *err)
{
    const nan_monitor *m = self;
    int32_t found = 0, known = 1;
    tutti_status s;
    if (event->id == TUTTI_EVENT_AFTER_LOSS) {
        s = nan_monitor_look(m, err);
        if (!s)
            s = m->view->peek(m->view->ctx, m->found, sizeof found, &found, &known, err);
    } else {
        s = m->view->copy(m->view->ctx, &found, m->found, sizeof found, TUTTI_COPY_FROM_DEVICE,
                          err);
    }
    if (s)
        return s;
    return known && found ? tutti_fail(err, TUTTI_E_NUMERIC, "Train loss contains a NaN.")
                          : TUTTI_OK;
}

static tutti_status nan_monitor_close(void *self, tutti_error *err)
{
    nan_monitor *m = self;
    (void)err;
    m->view->give(m->view->ctx, m->found);
    free(m);
    return TUTTI_OK;
}

CALLBACK_PLUGIN("nan_monitor", .open = nan_monitor_open, .run_event = nan_monitor_event,
                .close = nan_monitor_close);
