/* plugin.c - system_metrics_monitor: logs what the machine's processors, memory, disk, network and GPUs do. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../callback.h"
#include "gpu.h"
#include "tutti/log.h"
#include "tutti/metrics.h"
#include "tutti/state.h"
#include "tutti/world.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/statvfs.h>

enum { MAX_VALUES = 32 };

typedef struct cpu_time {
    unsigned long long busy;
    unsigned long long all;
} cpu_time;

typedef struct system_monitor {
    const tutti_metrics_v1 *metrics;
    const tutti_log_v1 *log;     /* NULL: nobody reads messages */
    const tutti_world_v1 *world; /* NULL: one process */
    gpu *gpu;
    int32_t
        wants_gpu;  /* 1: the run is on one; -1: and its numbers cannot be had; 0: it is not */
    int32_t of_all; /* ranks, not the least and the most */
    cpu_time last;
    tutti_named_value values[MAX_VALUES];
    uint32_t count;
    uint32_t reserved;
} system_monitor;

static tutti_status system_metrics_monitor_open(const tutti_host *host,
                                                const tutti_params *params, void **ret_self,
                                                tutti_error *err)
{
    const tutti_metrics_v1 *metrics =
        callback_service(host, "system_metrics_monitor", TUTTI_METRICS_V1, err);
    const tutti_state_v1 *state =
        metrics ? callback_service(host, "system_metrics_monitor", TUTTI_STATE_V1, err) : NULL;
    if (!state)
        return TUTTI_E_UNSUPPORTED;
    system_monitor *m = calloc(1, sizeof *m);
    if (!m)
        return tutti_fail(err, TUTTI_E_NOMEM, "system_metrics_monitor: no memory");
    m->metrics = metrics;
    m->log = host->query(host->ctx, TUTTI_LOG_V1);
    m->world = host->query(host->ctx, TUTTI_WORLD_V1);
    const tutti_param *all = tutti_param_find(params, "log_all_data");
    m->of_all = all && all->i != 0;
    m->wants_gpu = strcmp(state->device(state->ctx), "cuda") == 0;
    *ret_self = m;
    return TUTTI_OK;
}

static void system_metrics_monitor_put(system_monitor *m, const char *name, double value)
{
    if (m->count < MAX_VALUES)
        m->values[m->count++] = (tutti_named_value){name, value};
}

/* The share of processor time since the last call that was not idle; since the start at first. */
static void put_cpu(system_monitor *m)
{
    unsigned long long t[8] = {0};
    FILE *in = fopen("/proc/stat", "r");
    if (!in)
        return;
    const int got = fscanf(in, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &t[0], &t[1],
                           &t[2], &t[3], &t[4], &t[5], &t[6], &t[7]);
    (void)fclose(in);
    cpu_time now = {0, 0};
    for (int k = 0; k < 8; k++) {
        now.all += t[k];
        now.busy += k == 3 || k == 4 ? 0 : t[k]; /* idle, waiting for a disk */
    }
    if (got < 4)
        return;
    const double all = (double)(now.all - m->last.all);
    system_metrics_monitor_put(
        m, "cpu_percentage", all > 0.0 ? 100.0 * (double)(now.busy - m->last.busy) / all : 0.0);
    m->last = now;
}

/* Bytes, from lines such as "MemTotal:  1234 kB". */
static void put_memory(system_monitor *m)
{
    static const struct {
        const char *line, *name;
    } lines[] = {{"MemTotal:", "cpu_memory_total"},
                 {"MemFree:", "cpu_memory_free"},
                 {"MemAvailable:", "cpu_memory_available"},
                 {"Active:", "cpu_memory_active"},
                 {"Inactive:", "cpu_memory_inactive"},
                 {"Buffers:", "cpu_memory_buffers"},
                 {"Cached:", "cpu_memory_cached"},
                 {"Shmem:", "cpu_memory_shared"},
                 {"Slab:", "cpu_memory_slab"}};
    enum { LINES = sizeof lines / sizeof *lines };
    double bytes[LINES] = {0.0};
    char text[160];
    FILE *in = fopen("/proc/meminfo", "r");
    if (!in)
        return;
    while (fgets(text, sizeof text, in))
        for (size_t k = 0; k < LINES; k++)
            if (strncmp(text, lines[k].line, strlen(lines[k].line)) == 0)
                bytes[k] = 1024.0 * (double)strtoull(text + strlen(lines[k].line), NULL, 10);
    (void)fclose(in);
    for (size_t k = 0; k < LINES; k++)
        system_metrics_monitor_put(m, lines[k].name, bytes[k]);
    system_metrics_monitor_put(m, "cpu_memory_used", bytes[0] - bytes[2]);
    system_metrics_monitor_put(m, "cpu_memory_percent",
                               bytes[0] > 0.0 ? 100.0 * (bytes[0] - bytes[2]) / bytes[0] : 0.0);
}

static void put_disk(system_monitor *m)
{
    struct statvfs disk;
    if (statvfs("/", &disk) != 0)
        return;
    const double block = (double)disk.f_frsize;
    const double used = block * (double)(disk.f_blocks - disk.f_bfree);
    const double open_to_us = block * (double)disk.f_bavail;
    system_metrics_monitor_put(m, "disk_memory_total", block * (double)disk.f_blocks);
    system_metrics_monitor_put(m, "disk_memory_used", used);
    system_metrics_monitor_put(m, "disk_memory_free", open_to_us);
    system_metrics_monitor_put(m, "disk_memory_percent",
                               used + open_to_us > 0.0 ? 100.0 * used / (used + open_to_us)
                                                       : 0.0);
}

/* Sums over all interfaces since the machine started.  A line is "eth0: " and 16 numbers: bytes,
 * packets, errors, drops and four more received, then the same sent. */
static void put_network(system_monitor *m)
{
    static const struct {
        const char *name;
        int column;
    } sums[] = {{"network_bytes_recv", 0}, {"network_packets_recv", 1},
                {"network_errin", 2},      {"network_dropin", 3},
                {"network_bytes_sent", 8}, {"network_packets_sent", 9},
                {"network_errout", 10},    {"network_dropout", 11}};
    double sum[16] = {0.0};
    char text[512];
    FILE *in = fopen("/proc/net/dev", "r");
    if (!in)
        return;
    while (fgets(text, sizeof text, in)) {
        char *at = strchr(text, ':');
        for (int k = 0; at && k < 16; k++)
            sum[k] += (double)strtoull(at + (k == 0), &at, 10);
    }
    (void)fclose(in);
    for (size_t k = 0; k < sizeof sums / sizeof *sums; k++)
        system_metrics_monitor_put(m, sums[k].name, sum[sums[k].column]);
}

/* ---- GPUs ---- */

static void log_gpu(const system_monitor *m, const char *before, int number, int32_t rank,
                    double value)
{
    char name[64];
    (void)snprintf(name, sizeof name, "%s%s_rank_%d", before, gpu_names[number], (int)rank);
    const tutti_named_value v = {name, value};
    if (isfinite(value))
        m->metrics->log(m->metrics->ctx, &v, 1);
}

/* The first of the ranks with the least and of those with the most of a number; NaN is neither. */
static void log_extremes(const system_monitor *m, const double *all, int32_t ranks, int number)
{
    int32_t least = 0, most = 0;
    for (int32_t r = 1; r < ranks; r++) {
        const double value = all[r * GPU_NUMBERS + number];
        const double low = all[least * GPU_NUMBERS + number];
        const double high = all[most * GPU_NUMBERS + number];
        least = value < low || isnan(low) ? r : least;
        most = value > high || isnan(high) ? r : most;
    }
    log_gpu(m, "min_", number, least, all[least * GPU_NUMBERS + number]);
    log_gpu(m, "max_", number, most, all[most * GPU_NUMBERS + number]);
}

/* All ranks come here at the same event. */
static tutti_status monitor_gather(const system_monitor *m, const double *mine,
                                   tutti_error *err)
{
    const int32_t ranks = m->world ? m->world->size(m->world->ctx) : 1;
    const size_t bytes = GPU_NUMBERS * sizeof *mine;
    tutti_status s = TUTTI_OK;
    double *all = calloc((size_t)ranks, bytes);
    if (!all)
        return tutti_fail(err, TUTTI_E_NOMEM, "system_metrics_monitor: no memory");
    if (m->world)
        s = m->world->gather(m->world->ctx, mine, all, bytes, err);
    else
        memcpy(all, mine, bytes);
    for (int k = 0; k < GPU_NUMBERS && !s; k++)
        if (m->of_all)
            for (int32_t r = 0; r < ranks; r++)
                log_gpu(m, "", k, r, all[r * GPU_NUMBERS + k]);
        else
            log_extremes(m, all, ranks, k);
    free(all);
    return s;
}

/* A GPU whose numbers cannot be had is told once, and counts as one that tells none: the other ranks wait for them. */
static tutti_status put_gpu(system_monitor *m, tutti_error *err)
{
    double mine[GPU_NUMBERS] = {(double)NAN, (double)NAN, (double)NAN, (double)NAN};
    char text[256];
    tutti_error why = TUTTI_ERROR_INIT;
    if (!m->gpu && m->wants_gpu > 0 && gpu_open(&m->gpu, &why)) {
        m->wants_gpu = -1;
        (void)snprintf(text, sizeof text, "the GPU's numbers are left out: %.200s", why.text);
        if (m->log)
            m->log->write(m->log->ctx, TUTTI_LOG_WARNING, text);
    }
    if (m->gpu)
        gpu_read(m->gpu, mine);
    return m->wants_gpu ? monitor_gather(m, mine, err) : TUTTI_OK;
}

static tutti_status system_metrics_monitor_close(void *self, tutti_error *err)
{
    system_monitor *m = self;
    gpu_close(m->gpu);
    return callback_close(m, err);
}

static tutti_status system_metrics_monitor_event(void *self, const tutti_event *event,
                                                 tutti_error *err)
{
    system_monitor *m = self;
    (void)event;
    m->count = 0;
    put_cpu(m);
    put_memory(m);
    put_disk(m);
    put_network(m);
    m->metrics->log(m->metrics->ctx, m->values, m->count);
    return put_gpu(m, err);
}

CALLBACK_PLUGIN("system_metrics_monitor", .open = system_metrics_monitor_open,
                .run_event = system_metrics_monitor_event,
                .close = system_metrics_monitor_close);
