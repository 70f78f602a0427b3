/* plugin.c - optimizer_monitor: logs the lengths of gradients, weights and updates. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../callback.h"
#include "tutti/metrics.h"
#include "tutti/weights.h"

#include <math.h>
#include <stdlib.h>

typedef struct optimizer_monitor {
    const tutti_metrics_v1 *metrics;
    const tutti_weights_v1 *weights;
    int64_t interval;
    float *before; /* the trained weights of a batch that is due, before its update */
    uint64_t room;
    uint64_t version; /* of the model's tree then */
    int32_t updates;
    int32_t taken; /* `before` is of this batch, whose gradients may be taken more than once */
} optimizer_monitor;

static tutti_status monitor_open(const tutti_host *host, const tutti_params *params,
                                 void **ret_self, tutti_error *err)
{
    const tutti_metrics_v1 *metrics =
        callback_service(host, "optimizer_monitor", TUTTI_METRICS_V1, err);
    const tutti_weights_v1 *weights =
        callback_service(host, "optimizer_monitor", TUTTI_WEIGHTS_V1, err);
    if (!metrics || !weights)
        return TUTTI_E_UNSUPPORTED;
    optimizer_monitor *m = calloc(1, sizeof *m);
    if (!m)
        return tutti_fail(err, TUTTI_E_NOMEM, "optimizer_monitor: no memory");
    m->metrics = metrics;
    m->weights = weights;
    m->interval = tutti_param_i64(params, "batch_log_interval");
    m->updates = tutti_param_i64(params, "log_optimizer_metrics") != 0;
    *ret_self = m;
    return TUTTI_OK;
}

static tutti_status monitor_close(void *self, tutti_error *err)
{
    optimizer_monitor *m = self;
    (void)err;
    free(m->before);
    free(m);
    return TUTTI_OK;
}

static double squares(const float *x, const float *minus, int64_t n)
{
    double sum = 0.0;
    for (int64_t k = 0; k < n; k++) {
        const double v = minus ? (double)x[k] - (double)minus[k] : (double)x[k];
        sum += v * v;
    }
    return sum;
}

/* Copies the weights that have gradients, one after the other. */
static tutti_status copy(optimizer_monitor *m, tutti_error *err)
{
    const tutti_weights_v1 *s = m->weights;
    uint64_t used = 0;
    for (uint32_t k = 0; k < s->count(s->ctx); k++) {
        tutti_weight w = {.struct_size = sizeof w};
        const tutti_status status = s->at(s->ctx, k, &w, err);
        if (status)
            return status;
        if (!w.grad)
            continue;
        const uint64_t n = (uint64_t)tutti_numel(&w.data.desc);
        if (used + n > m->room) {
            float *more = realloc(m->before, 2 * (used + n) * sizeof *more);
            if (!more)
                return tutti_fail(err, TUTTI_E_NOMEM,
                                  "optimizer_monitor: no memory for a copy of the weights");
            m->before = more;
            m->room = 2 * (used + n);
        }
        memcpy(m->before + used, w.data.data, n * sizeof(float));
        used += n;
    }
    m->version = s->version(s->ctx);
    m->taken = 1;
    return TUTTI_OK;
}

static void log_one(const optimizer_monitor *m, const char *what, const char *path,
                    double sum_of_squares)
{
    char name[256];
    (void)snprintf(name, sizeof name, "l2_norm/%s/%s", what, path);
    const tutti_named_value v = {name, sqrt(sum_of_squares)};
    m->metrics->log(m->metrics->ctx, &v, 1);
}

static tutti_status report(optimizer_monitor *m, tutti_error *err)
{
    const tutti_weights_v1 *s = m->weights;
    const int32_t updates = m->taken && m->version == s->version(s->ctx);
    const float *before = m->before;
    double global = 0.0;
    for (uint32_t k = 0; k < s->count(s->ctx); k++) {
        tutti_weight w = {.struct_size = sizeof w};
        const tutti_status status = s->at(s->ctx, k, &w, err);
        if (status)
            return status;
        if (!w.grad)
            continue;
        const int64_t n = tutti_numel(&w.data.desc);
        const double grad = squares(w.grad, NULL, n);
        global += grad;
        log_one(m, "grad", w.path, grad);
        if (m->updates)
            log_one(m, "param", w.path, squares(w.data.data, NULL, n));
        if (updates) {
            log_one(m, "update", w.path, squares(w.data.data, before, n));
            before += n;
        }
    }
    log_one(m, "grad", "global", global);
    return TUTTI_OK;
}

static tutti_status monitor_event(void *self, const tutti_event *event, tutti_error *err)
{
    optimizer_monitor *m = self;
    if (event->id == TUTTI_EVENT_AFTER_TRAIN_BATCH) {
        const int32_t due = (event->time->batch + 1) % m->interval == 0; /* of this batch */
        return m->updates && due && !m->taken ? copy(m, err) : TUTTI_OK;
    }
    if (event->time->batch % m->interval != 0)
        return TUTTI_OK;
    const tutti_status status = report(m, err);
    m->taken = 0;
    return status;
}

static const tutti_calls calls = {.struct_size = sizeof calls,
                                  .open = monitor_open,
                                  .run_event = monitor_event,
                                  .close = monitor_close};

CALLBACK_PLUGIN("optimizer_monitor", calls)
