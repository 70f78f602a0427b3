/* plugin.c - optimizer_monitor: logs the lengths of gradients, moments, weights and updates. */
/* SPDX-License-Identifier: Apache-2.0 */
#define TUTTI_USE_MINOR 1 /* slot */
#include "moments.h"

#include "../callback.h"
#include "tutti/log.h"
#include "tutti/metrics.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct optimizer_monitor {
    squares squares;
    moments moments;
    const tutti_metrics_v1 *metrics;
    const tutti_log_v1 *log;
    int64_t interval;
    float **before; /* by span: the weights of a batch that is due, before its update */
    uint32_t nbefore;
    int32_t updates;
    uint64_t version; /* of the model's tree then */
    int32_t taken; /* `before` is of this batch, whose gradients may be taken more than once */
    int32_t no_moments; /* they are elsewhere, which has been told */
} optimizer_monitor;

static void optimizer_monitor_forget(optimizer_monitor *m)
{
    const tutti_device_view_v1 *v = m->squares.view;
    for (uint32_t k = 0; k < m->nbefore; k++)
        v->give(v->ctx, m->before[k]);
    free(m->before);
    m->before = NULL;
    m->nbefore = 0;
}

static tutti_status optimizer_monitor_close(void *self, tutti_error *err)
{
    optimizer_monitor *m = self;
    (void)err;
    optimizer_monitor_forget(m);
    moments_fini(&m->moments);
    squares_fini(&m->squares);
    free(m);
    return TUTTI_OK;
}

static tutti_status optimizer_monitor_open(const tutti_host *host, const tutti_params *params,
                                           void **ret_self, tutti_error *err)
{
    const tutti_metrics_v1 *metrics =
        callback_service(host, "optimizer_monitor", TUTTI_METRICS_V1, err);
    const tutti_log_v1 *log =
        metrics ? callback_service(host, "optimizer_monitor", TUTTI_LOG_V1, err) : NULL;
    if (!metrics || !log)
        return TUTTI_E_UNSUPPORTED;
    optimizer_monitor *m = calloc(1, sizeof *m);
    if (!m)
        return tutti_fail(err, TUTTI_E_NOMEM, "optimizer_monitor: no memory");
    const tutti_status s = squares_init(&m->squares, host, "optimizer_monitor", err);
    if (s) {
        (void)optimizer_monitor_close(m, NULL);
        return s;
    }
    m->moments.squares = &m->squares;
    m->metrics = metrics;
    m->log = log;
    m->interval = tutti_param_i64(params, "batch_log_interval");
    m->updates = tutti_param_i64(params, "log_optimizer_metrics") != 0;
    *ret_self = m;
    return TUTTI_OK;
}

/* Room for the trained spans. */
static tutti_status make_room(optimizer_monitor *m, tutti_error *err)
{
    const tutti_device_view_v1 *v = m->squares.view;
    const uint32_t nspans = v->spans(v->ctx);
    if (m->before && m->version == m->squares.version)
        return TUTTI_OK;
    optimizer_monitor_forget(m);
    m->before = calloc((size_t)nspans + 1, sizeof *m->before);
    if (!m->before)
        return tutti_fail(err, TUTTI_E_NOMEM, "optimizer_monitor: no memory");
    for (uint32_t k = 0; k < nspans; k++) {
        tutti_span span = {.struct_size = sizeof span};
        void *memory = NULL;
        const int32_t trained = squares_span(v, k, &span, err);
        const tutti_status s =
            trained == 1 ? v->take(v->ctx, (uint64_t)span.n * sizeof(float), &memory, err)
                         : trained;
        if (s) {
            optimizer_monitor_forget(m);
            return s;
        }
        m->before[k] = memory;
        m->nbefore = k + 1;
    }
    m->version = m->squares.version;
    return TUTTI_OK;
}

/* Copies the trained weights. */
static tutti_status optimizer_monitor_copy(optimizer_monitor *m, tutti_error *err)
{
    const tutti_device_view_v1 *v = m->squares.view;
    tutti_status s = squares_fit(&m->squares, err);
    if (!s)
        s = make_room(m, err);
    for (uint32_t k = 0; k < m->nbefore && !s; k++) {
        tutti_span span = {.struct_size = sizeof span};
        const int32_t trained = squares_span(v, k, &span, err);
        s = trained == 1 ? v->copy(v->ctx, m->before[k], span.w,
                                   (uint64_t)span.n * sizeof(float), TUTTI_COPY_ON_DEVICE, err)
                         : trained;
    }
    m->taken = !s;
    return s;
}

static void log_one(const optimizer_monitor *m, const char *what, const char *path,
                    double sum_of_squares)
{
    char name[256];
    (void)snprintf(name, sizeof name, "l2_norm/%s/%s", what, path);
    const tutti_named_value v = {name, sqrt(sum_of_squares)};
    m->metrics->log(m->metrics->ctx, &v, 1);
}

/* Brings the sums over, which waits for them, and logs each weight's; of `only` those that it has. */
static tutti_status log_all(optimizer_monitor *m, const char *what, int32_t global,
                            const moments *only, tutti_error *err)
{
    const squares *s = &m->squares;
    double all = 0.0;
    double *parts = malloc((s->count + (size_t)1) * sizeof *parts);
    if (!parts)
        return tutti_fail(err, TUTTI_E_NOMEM, "optimizer_monitor: no memory");
    tutti_status status = s->view->copy(s->view->ctx, parts, s->parts, s->count * sizeof *parts,
                                        TUTTI_COPY_FROM_DEVICE, err);
    for (uint32_t k = 0; k < s->count && !status;) {
        const uint32_t weight = s->pieces[k].weight;
        const int32_t is_there = !only || only->pieces[2 * (size_t)k + 1] > 0;
        tutti_weight w = {.struct_size = sizeof w};
        double sum = 0.0;
        for (; k < s->count && s->pieces[k].weight == weight; k++)
            sum += parts[k];
        if (is_there)
            status = s->view->weight(s->view->ctx, weight, &w, err);
        if (!status && is_there)
            log_one(m, what, w.path, sum);
        all += sum;
    }
    if (global && !status)
        log_one(m, what, "global", all);
    free(parts);
    return status;
}

/* Moments that are sharded are told of once, and left out. */
static tutti_status log_moments(optimizer_monitor *m, tutti_error *err)
{
    char text[sizeof(tutti_error) + 64];
    tutti_error cause = TUTTI_ERROR_INIT;
    const tutti_status status = m->no_moments ? TUTTI_OK : moments_launch(&m->moments, &cause);
    if (status == TUTTI_E_UNSUPPORTED) {
        m->no_moments = 1;
        (void)snprintf(text, sizeof text, "moments are not logged: %s", cause.text);
        m->log->write(m->log->ctx, TUTTI_LOG_WARNING, text);
    } else if (status) {
        return tutti_fail(err, status, "%s", cause.text);
    }
    return m->no_moments ? TUTTI_OK : log_all(m, "moment", 0, &m->moments, err);
}

static tutti_status optimizer_monitor_report(optimizer_monitor *m, tutti_error *err)
{
    squares *s = &m->squares;
    tutti_status status = squares_launch(s, SQUARES_OF_GRADIENTS, NULL, err);
    if (status || (status = log_all(m, "grad", 1, NULL, err)) || !m->updates)
        return status;
    if ((status = log_moments(m, err)) ||
        (status = squares_launch(s, SQUARES_OF_WEIGHTS, NULL, err)) ||
        (status = log_all(m, "param", 0, NULL, err)) || !m->taken || m->version != s->version)
        return status;
    status = squares_launch(s, SQUARES_OF_WEIGHTS, m->before, err);
    return status ? status : log_all(m, "update", 0, NULL, err);
}

static tutti_status optimizer_monitor_event(void *self, const tutti_event *event,
                                            tutti_error *err)
{
    optimizer_monitor *m = self;
    if (event->id == TUTTI_EVENT_AFTER_TRAIN_BATCH) {
        const int32_t due = (event->time->batch + 1) % m->interval == 0; /* of this batch */
        return m->updates && due && !m->taken ? optimizer_monitor_copy(m, err) : TUTTI_OK;
    }
    if (event->time->batch % m->interval != 0)
        return TUTTI_OK;
    const tutti_status status = optimizer_monitor_report(m, err);
    m->taken = 0;
    return status;
}

CALLBACK_PLUGIN("optimizer_monitor", .open = optimizer_monitor_open,
                .run_event = optimizer_monitor_event, .close = optimizer_monitor_close);
