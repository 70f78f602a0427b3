/* plugin.c - speed_monitor: throughput over a window of batches, and where the time went. */
/* SPDX-License-Identifier: Apache-2.0 */
#define TUTTI_USE_MINOR 1 /* tutti.plan/1; a host of 1.0 has no FLOPs to log */
#define TUTTI_MIN_MINOR 0
#include "../callback.h"
#include "tutti/metrics.h"
#include "tutti/plan.h"
#include "tutti/state.h"
#include "tutti/stateful.h"
#include "tutti/world.h"

#include <stdio.h>
#include <stdlib.h>

/* The clock at the end of a batch. */
typedef struct mark {
    int64_t batch;
    int64_t sample;
    int64_t token;
    int64_t ns;
    double flops; /* of all processes, since the start */
} mark;

typedef struct speed_monitor {
    const tutti_state_v1 *state;
    const tutti_metrics_v1 *metrics;
    mark *ring; /* the last size marks */
    int64_t size;
    int64_t seen;    /* marks so far */
    int64_t eval_ns; /* all evaluations; in checkpoints */
    double unit_ns;
    const tutti_plan_v1 *plan;   /* NULL: the host counts no FLOPs */
    const tutti_world_v1 *world; /* NULL: one process */
    double processes;            /* that train together */
    double flops;                /* of all of them, since the start */
    double flops_available;      /* a second, of one; 0: not known */
} speed_monitor;

static tutti_status speed_monitor_close(void *self, tutti_error *err)
{
    speed_monitor *m = self;
    (void)err;
    if (m)
        free(m->ring);
    free(m);
    return TUTTI_OK;
}

static tutti_status speed_monitor_open(const tutti_host *host, const tutti_params *params,
                                       void **ret_self, tutti_error *err)
{
    static const double seconds[] = {1.0, 60.0, 3600.0, 86400.0}; /* as the manifest's values */
    const tutti_state_v1 *state = callback_service(host, "speed_monitor", TUTTI_STATE_V1, err);
    const tutti_metrics_v1 *metrics =
        callback_service(host, "speed_monitor", TUTTI_METRICS_V1, err);
    if (!state || !metrics)
        return TUTTI_E_UNSUPPORTED;
    speed_monitor *m = calloc(1, sizeof *m);
    if (m) {
        m->size = tutti_param_i64(params, "window_size") + 1;
        m->ring = calloc((size_t)m->size, sizeof *m->ring);
    }
    if (!m || !m->ring) {
        (void)speed_monitor_close(m, NULL);
        return tutti_fail(err, TUTTI_E_NOMEM, "speed_monitor: no memory for the window");
    }
    m->state = state;
    m->metrics = metrics;
    m->unit_ns = 1e9 * seconds[tutti_param_i64(params, "time_unit") & 3];
    m->plan = host->query(host->ctx, TUTTI_PLAN_V1);
    m->world = host->query(host->ctx, TUTTI_WORLD_V1);
    m->processes = m->world ? m->world->size(m->world->ctx) : 1.0;
    m->flops_available = tutti_param_is_set(params, "gpu_flops_available")
                             ? tutti_param_f64(params, "gpu_flops_available")
                             : 0.0;
    *ret_self = m;
    return TUTTI_OK;
}

/* Of the batch, over all processes: each computes its own part.  They all come here at the same batch. */
static tutti_status speed_flops(const speed_monitor *m, double *ret_flops, tutti_error *err)
{
    const double mine = m->plan->flops(m->plan->ctx);
    const size_t processes = (size_t)m->processes;
    tutti_status s = TUTTI_OK;
    *ret_flops = mine;
    if (processes == 1)
        return s;
    double *all = calloc(processes, sizeof *all);
    if (!all)
        return tutti_fail(err, TUTTI_E_NOMEM, "speed_monitor: no memory for %zu processes",
                          processes);
    s = m->world->gather(m->world->ctx, &mine, all, sizeof mine, err);
    *ret_flops = 0.0;
    for (size_t k = 0; k < processes; k++)
        *ret_flops += all[k];
    free(all);
    return s;
}

static void log_flops(const speed_monitor *m, double per_sec)
{
    const double device = per_sec / m->processes;
    const tutti_named_value v[] = {{"throughput/flops_per_sec", per_sec},
                                   {"throughput/device/flops_per_sec", device},
                                   {"throughput/device/mfu", device / m->flops_available}};
    m->metrics->log(m->metrics->ctx, v, m->flops_available > 0.0 ? 3 : 2);
}

static void log_rates(speed_monitor *m, const mark *now)
{
    m->ring[m->seen++ % m->size] = *now;
    if (m->seen < m->size)
        return;
    const mark *then = &m->ring[m->seen % m->size];
    const double passed = (double)(now->ns - then->ns) * 1e-9;
    if (!(passed > 0.0))
        return;
    const double batches = (double)(now->batch - then->batch) / passed;
    const double samples = (double)(now->sample - then->sample) / passed;
    const double tokens = (double)(now->token - then->token) / passed;
    const tutti_named_value v[] = {
        {"throughput/batches_per_sec", batches},
        {"throughput/device/batches_per_sec", batches / m->processes},
        {"throughput/samples_per_sec", samples},
        {"throughput/device/samples_per_sec", samples / m->processes},
        {"throughput/tokens_per_sec", tokens},
        {"throughput/device/tokens_per_sec", tokens / m->processes},
    };
    m->metrics->log(m->metrics->ctx, v, now->token > then->token ? 6 : 4);
    if (now->flops > then->flops)
        log_flops(m, (now->flops - then->flops) / passed);
}

static tutti_status speed_monitor_event(void *self, const tutti_event *event, tutti_error *err)
{
    speed_monitor *m = self;
    double flops = 0.0;
    if (event->id == TUTTI_EVENT_EVAL_END) {
        m->eval_ns += event->eval_time->total_ns;
        return TUTTI_OK;
    }
    const tutti_timestamp *t = event->time;
    const tutti_status s = m->plan ? speed_flops(m, &flops, err) : TUTTI_OK;
    if (s)
        return s;
    m->flops += flops;
    const mark now = {t->batch, t->sample, t->token, t->total_ns, m->flops};
    log_rates(m, &now);
    const double train = (double)t->total_ns / m->unit_ns;
    const double val = (double)m->eval_ns / m->unit_ns;
    const tutti_named_value v[] = {
        {"time/train", train}, {"time/val", val}, {"time/total", train + val}};
    m->metrics->log(m->metrics->ctx, v, 3);
    return TUTTI_OK;
}

static tutti_status speed_monitor_items(void *self, tutti_state_item *items, uint32_t capacity,
                                        uint32_t *ret_count, tutti_error *err)
{
    speed_monitor *m = self;
    (void)err;
    *ret_count = 1;
    if (capacity >= 1) {
        memset(&items[0], 0, sizeof items[0]);
        (void)snprintf(items[0].name, sizeof items[0].name, "eval_ns");
        items[0].tensor.data = &m->eval_ns;
        items[0].tensor.desc.dtype = TUTTI_I64;
        items[0].tensor.device = TUTTI_DEVICE_CPU;
    }
    return TUTTI_OK;
}

static const void *speed_monitor_query(void *self, const char *interface_id)
{
    static const tutti_stateful_v1 stateful = {.struct_size = sizeof stateful,
                                               .items = speed_monitor_items};
    (void)self;
    return strcmp(interface_id, TUTTI_STATEFUL_V1) == 0 ? &stateful : NULL;
}

CALLBACK_PLUGIN("speed_monitor", .open = speed_monitor_open, .run_event = speed_monitor_event,
                .close = speed_monitor_close, .query = speed_monitor_query);
