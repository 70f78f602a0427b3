/* plugin.c - system_metrics_monitor: logs what the machine's processors, memory, disk and network do. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../callback.h"
#include "tutti/metrics.h"

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
    cpu_time last;
    tutti_named_value values[MAX_VALUES];
    uint32_t count;
    uint32_t reserved;
} system_monitor;

static tutti_status monitor_open(const tutti_host *host, const tutti_params *params,
                                 void **ret_self, tutti_error *err)
{
    (void)params;
    const tutti_metrics_v1 *metrics =
        callback_service(host, "system_metrics_monitor", TUTTI_METRICS_V1, err);
    if (!metrics)
        return TUTTI_E_UNSUPPORTED;
    system_monitor *m = calloc(1, sizeof *m);
    if (!m)
        return tutti_fail(err, TUTTI_E_NOMEM, "system_metrics_monitor: no memory");
    m->metrics = metrics;
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

static tutti_status monitor_event(void *self, const tutti_event *event, tutti_error *err)
{
    system_monitor *m = self;
    (void)event, (void)err;
    m->count = 0;
    put_cpu(m);
    put_memory(m);
    put_disk(m);
    put_network(m);
    m->metrics->log(m->metrics->ctx, m->values, m->count);
    return TUTTI_OK;
}

CALLBACK_PLUGIN("system_metrics_monitor", .open = monitor_open, .run_event = monitor_event,
                .close = callback_close);
