/* plugin.c - activation_monitor: norms, means, maxima and kurtosis of what modules take and give. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../callback.h"
#include "../one_item.h"
#include "tutti/activations.h"
#include "tutti/metrics.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { STATISTICS = 4, NAME_SIZE = 512 };

typedef struct activation_monitor {
    const tutti_activations_v1 *activations;
    const tutti_metrics_v1 *metrics;
    const tutti_param *ignored; /* a list, or NULL */
    tutti_time interval;
    int64_t logged; /* the interval's counter when it last was; -1: never.  In checkpoints */
} activation_monitor;

/* Of one tensor: each is taken over the last dimension, then averaged over the others. */
typedef struct statistics {
    double l2_norm, average, kurtosis, max;
} statistics;

static statistics row_statistics(const float *x, int64_t n)
{
    double sum = 0.0, squares = 0.0, second = 0.0, fourth = 0.0, max = -INFINITY;
    for (int64_t k = 0; k < n; k++) {
        const double v = (double)x[k];
        sum += v;
        squares += v * v;
        max = v > max || isnan(v) ? v : max;
    }
    const double mean = sum / (double)n;
    for (int64_t k = 0; k < n; k++) {
        const double d = (double)x[k] - mean;
        second += d * d;
        fourth += d * d * d * d;
    }
    second /= (double)n;
    fourth /= (double)n;
    return (statistics){sqrt(squares), mean, fourth / (second * second), max};
}

static statistics tensor_statistics(const tutti_tensor *t)
{
    const int64_t n = t->desc.rank ? t->desc.dim[t->desc.rank - 1] : 1;
    const int64_t rows = tutti_numel(&t->desc) / n;
    statistics all = {0.0, 0.0, 0.0, 0.0};
    for (int64_t k = 0; k < rows; k++) {
        const statistics one = row_statistics((const float *)t->data + k * n, n);
        all.l2_norm += one.l2_norm / (double)rows;
        all.average += one.average / (double)rows;
        all.kurtosis += one.kurtosis / (double)rows;
        all.max += one.max / (double)rows;
    }
    return all;
}

/* "activations/l2_norm/stage1.conv_input.0" and its like; whole numbers have no statistics. */
static void log_tensor(const activation_monitor *m, const char *path, const char *side,
                       uint32_t k, const tutti_tensor *t)
{
    static const char *const names[STATISTICS] = {"l2_norm", "average", "kurtosis", "max"};
    char texts[STATISTICS][NAME_SIZE];
    tutti_named_value values[STATISTICS];
    if (t->desc.dtype != TUTTI_F32 || tutti_numel(&t->desc) == 0)
        return;
    const statistics s = tensor_statistics(t);
    const double numbers[STATISTICS] = {s.l2_norm, s.average, s.kurtosis, s.max};
    for (int j = 0; j < STATISTICS; j++) {
        (void)snprintf(texts[j], NAME_SIZE, "activations/%s/%s_%s.%u", names[j], path, side, k);
        values[j] = (tutti_named_value){texts[j], numbers[j]};
    }
    m->metrics->log(m->metrics->ctx, values, STATISTICS);
}

static bool is_ignored(const activation_monitor *m, const char *path)
{
    for (uint32_t k = 0; m->ignored && k < m->ignored->count; k++)
        if (strstr(path, m->ignored->items[k]->s))
            return true;
    return false;
}

static tutti_status log_module(void *ctx, const tutti_activation *a, tutti_error *err)
{
    const activation_monitor *m = ctx;
    (void)err;
    if (is_ignored(m, a->path))
        return TUTTI_OK;
    for (uint32_t k = 0; k < a->ninputs; k++)
        log_tensor(m, a->path, "input", k, &a->inputs[k]);
    for (uint32_t k = 0; k < a->noutputs; k++)
        log_tensor(m, a->path, "output", k, &a->outputs[k]);
    return TUTTI_OK;
}

static tutti_status activation_monitor_event(void *self, const tutti_event *event,
                                             tutti_error *err)
{
    activation_monitor *m = self;
    const int64_t now = tutti_timestamp_get(event->time, m->interval.unit);
    if (now % m->interval.count != 0 || now == m->logged)
        return TUTTI_OK;
    m->logged = now;
    return m->activations->observe(m->activations->ctx, log_module, m, err);
}

static tutti_status activation_monitor_open(const tutti_host *host, const tutti_params *params,
                                            void **ret_self, tutti_error *err)
{
    const activation_monitor m = {
        .activations = callback_service(host, "activation_monitor", TUTTI_ACTIVATIONS_V1, err),
        .metrics = callback_service(host, "activation_monitor", TUTTI_METRICS_V1, err),
        .ignored = tutti_param_is_set(params, "ignore_module_types")
                       ? tutti_param_find(params, "ignore_module_types")
                       : NULL,
        .interval = tutti_param_time(params, "interval"),
        .logged = -1};
    if (!m.activations || !m.metrics)
        return TUTTI_E_UNSUPPORTED;
    activation_monitor *self = malloc(sizeof *self);
    if (!self)
        return tutti_fail(err, TUTTI_E_NOMEM, "activation_monitor: no memory");
    *self = m;
    *ret_self = self;
    return TUTTI_OK;
}

static tutti_status activation_monitor_check(const tutti_params *params, tutti_error *err)
{
    const tutti_time interval = tutti_param_time(params, "interval");
    return interval.count > 0
               ? TUTTI_OK
               : tutti_fail(err, TUTTI_E_RANGE, "activation_monitor: interval must be above 0");
}

CALLBACK_KEEPS(activation_monitor, logged, .dtype = TUTTI_I64)

CALLBACK_PLUGIN_CHECKED("activation_monitor", activation_monitor_check,
                        .open = activation_monitor_open, .run_event = activation_monitor_event,
                        .close = callback_close, .query = callback_query);
