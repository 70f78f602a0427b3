/* plugin.c - memory_monitor: logs how much memory the process has. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../callback.h"
#include "tutti/metrics.h"
#include "tutti/world.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { COUNTERS = 4 };

/* What /proc/self/status calls it, and what is logged. */
static const struct counter {
    const char *line;
    const char *name;
} counters[COUNTERS] = {
    {"VmRSS:", "memory/current_allocated_mem"},
    {"VmHWM:", "memory/peak_allocated_mem"},
    {"VmSize:", "memory/current_reserved_mem"},
    {"VmPeak:", "memory/peak_reserved_mem"},
};

typedef struct memory_monitor {
    const tutti_metrics_v1 *metrics;
    const tutti_world_v1 *world; /* NULL: one process */
    int64_t aggregates_every;    /* batches; 0: never */
    int32_t wanted[COUNTERS];
} memory_monitor;

static tutti_status memory_monitor_open(const tutti_host *host, const tutti_params *params,
                                        void **ret_self, tutti_error *err)
{
    const tutti_metrics_v1 *metrics =
        callback_service(host, "memory_monitor", TUTTI_METRICS_V1, err);
    if (!metrics)
        return TUTTI_E_UNSUPPORTED;
    memory_monitor *m = calloc(1, sizeof *m);
    if (!m)
        return tutti_fail(err, TUTTI_E_NOMEM, "memory_monitor: no memory");
    m->metrics = metrics;
    m->world = host->query(host->ctx, TUTTI_WORLD_V1);
    const tutti_param *every = tutti_param_find(params, "dist_aggregate_batch_interval");
    m->aggregates_every = every && every->type == TUTTI_PARAM_INT ? every->i : 0;
    const tutti_param *keys = tutti_param_find(params, "memory_keys");
    const int32_t all = !keys || keys->type == TUTTI_PARAM_NULL;
    for (int k = 0; k < COUNTERS; k++) {
        m->wanted[k] = all;
        for (uint64_t j = 0; !all && j < keys->count; j++)
            m->wanted[k] |=
                strcmp(keys->items[j]->s, counters[k].name + strlen("memory/")) == 0;
    }
    *ret_self = m;
    return TUTTI_OK;
}

/* Gigabytes of 10^9 bytes, rounded to five digits. */
static double memory_monitor_gigabytes(unsigned long long kib)
{
    char text[32];
    (void)snprintf(text, sizeof text, "%.5g", (double)kib * 1024.0 / 1e9);
    return strtod(text, NULL);
}

/* Mean, least and most of one number over the processes. */
static void log_over(const memory_monitor *m, const char *name, const double *values,
                     size_t stride, int32_t processes)
{
    char names[3][64];
    double sum = 0.0, least = values[0], most = values[0];
    for (int32_t r = 0; r < processes; r++) {
        const double one = values[(size_t)r * stride];
        sum += one;
        least = one < least ? one : least;
        most = one > most ? one : most;
    }
    static const char *const ends[] = {"avg", "min", "max"};
    const double numbers[] = {sum / processes, least, most};
    tutti_named_value v[3];
    for (int k = 0; k < 3; k++) {
        (void)snprintf(names[k], sizeof names[k], "%s_%s", name, ends[k]);
        v[k] = (tutti_named_value){names[k], numbers[k]};
    }
    m->metrics->log(m->metrics->ctx, v, 3);
}

/* All processes come here at the same batch, with the same numbers. */
static tutti_status memory_monitor_aggregate(const memory_monitor *m,
                                             const tutti_named_value *v, uint32_t n,
                                             tutti_error *err)
{
    const int32_t processes = m->world ? m->world->size(m->world->ctx) : 1;
    double mine[COUNTERS] = {0.0};
    tutti_status s = TUTTI_OK;
    double *all = calloc((size_t)processes, sizeof mine);
    if (!all)
        return tutti_fail(err, TUTTI_E_NOMEM, "memory_monitor: no memory for %d processes",
                          (int)processes);
    for (uint32_t k = 0; k < n; k++)
        mine[k] = v[k].value;
    if (m->world)
        s = m->world->gather(m->world->ctx, mine, all, sizeof mine, err);
    else
        memcpy(all, mine, sizeof mine);
    for (uint32_t k = 0; k < n && !s; k++)
        log_over(m, v[k].name, all + k, COUNTERS, processes);
    free(all);
    return s;
}

static tutti_status memory_monitor_event(void *self, const tutti_event *event, tutti_error *err)
{
    const memory_monitor *m = self;
    char line[256];
    tutti_named_value v[COUNTERS];
    uint32_t n = 0;
    FILE *in = fopen("/proc/self/status", "r");
    if (!in)
        return tutti_fail(err, TUTTI_E_IO, "memory_monitor: /proc/self/status cannot be read");
    while (fgets(line, sizeof line, in) && n < COUNTERS)
        for (int k = 0; k < COUNTERS; k++)
            if (m->wanted[k] && strncmp(line, counters[k].line, strlen(counters[k].line)) == 0)
                v[n++] = (tutti_named_value){
                    counters[k].name, memory_monitor_gigabytes(
                                          strtoull(line + strlen(counters[k].line), NULL, 10))};
    (void)fclose(in);
    m->metrics->log(m->metrics->ctx, v, n);
    return m->aggregates_every && event->time->batch % m->aggregates_every == 0
               ? memory_monitor_aggregate(m, v, n, err)
               : TUTTI_OK;
}

CALLBACK_PLUGIN("memory_monitor", .open = memory_monitor_open,
                .run_event = memory_monitor_event, .close = callback_close);
