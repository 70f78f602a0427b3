/* plugin.c - pace: a run in blocks of batches that somebody asks for; laps: times of batches. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tutti/metrics.h"
#include "tutti/state.h"
#include "tutti/tutti.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef struct pace {
    const tutti_state_v1 *state;
    const tutti_metrics_v1 *metrics;
    int64_t left; /* batches of this block still to run */
    int64_t start_ns;
} pace;

static int64_t now_ns(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* The kilobytes of memory held at most so far, or 0. */
static long peak_kb(void)
{
    long kb = 0;
    char line[128];
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "VmHWM: %ld", &kb) == 1)
            break;
    if (f)
        (void)fclose(f);
    return kb;
}

static tutti_status pace_event(void *self, const tutti_event *event, tutti_error *err)
{
    pace *p = self;
    char line[64];
    (void)event;
    (void)err;
    if (p->left-- > 0)
        return TUTTI_OK;
    if (p->start_ns) {
        double loss = 0.0; /* who asks for it waits for a device's steps */
        if (p->metrics)
            (void)p->metrics->get(p->metrics->ctx, "loss/train/total", &loss, NULL);
        (void)printf("%lld %ld\n", (long long)(now_ns() - p->start_ns), peak_kb());
        (void)fflush(stdout);
    }
    if (!fgets(line, sizeof line, stdin) || (p->left = strtoll(line, NULL, 10) - 1) < 0)
        p->state->stop_training(p->state->ctx, "pace: no more blocks");
    p->start_ns = now_ns();
    return TUTTI_OK;
}

static tutti_status pace_open(const tutti_host *host, const tutti_params *params,
                              void **ret_self, tutti_error *err)
{
    const tutti_state_v1 *state = host->query(host->ctx, TUTTI_STATE_V1);
    pace *p = calloc(1, sizeof *p);
    (void)params;
    if (!p || !state) {
        free(p);
        return tutti_fail(err, TUTTI_E_UNSUPPORTED, "pace: no memory or no %s", TUTTI_STATE_V1);
    }
    p->state = state;
    p->metrics = host->query(host->ctx, TUTTI_METRICS_V1);
    *ret_self = p;
    return TUTTI_OK;
}

static tutti_status pace_close(void *self, tutti_error *err)
{
    (void)err;
    free(self);
    return TUTTI_OK;
}

/* Prints "lap SIDE NANOSECONDS" for the batch before, SIDE being that of its images, or the length of its texts. */
typedef struct laps {
    const tutti_state_v1 *state;
    int64_t side;
    int64_t start_ns;
} laps;

static tutti_status laps_event(void *self, const tutti_event *event, tutti_error *err)
{
    laps *l = self;
    tutti_tensor input;
    if (event->id == TUTTI_EVENT_AFTER_FORWARD) {
        const tutti_status s = l->state->get(l->state->ctx, "input", &input, err);
        l->side = s ? 0 : input.desc.dim[1];
        return s;
    }
    const int64_t now = now_ns();
    if (l->side)
        (void)printf("lap %lld %lld\n", (long long)l->side, (long long)(now - l->start_ns));
    l->start_ns = now;
    return TUTTI_OK;
}

static tutti_status laps_open(const tutti_host *host, const tutti_params *params,
                              void **ret_self, tutti_error *err)
{
    const tutti_state_v1 *state = host->query(host->ctx, TUTTI_STATE_V1);
    laps *l = calloc(1, sizeof *l);
    (void)params;
    if (!l || !state) {
        free(l);
        return tutti_fail(err, TUTTI_E_UNSUPPORTED, "laps: no memory or no %s", TUTTI_STATE_V1);
    }
    l->state = state;
    *ret_self = l;
    return TUTTI_OK;
}

static const tutti_calls calls = {.struct_size = sizeof calls,
                                  .open = pace_open,
                                  .run_event = pace_event,
                                  .close = pace_close};
static const tutti_object object = TUTTI_OBJECT_INIT("pace", TUTTI_KIND_CALLBACK, &calls);
static const tutti_calls laps_calls = {.struct_size = sizeof laps_calls,
                                       .open = laps_open,
                                       .run_event = laps_event,
                                       .close = pace_close};
static const tutti_object laps_object =
    TUTTI_OBJECT_INIT("laps", TUTTI_KIND_CALLBACK, &laps_calls);
static const tutti_object *const objects[] = {&object, &laps_object, NULL};
static const tutti_plugin plugin = TUTTI_PLUGIN_INIT("org.tutti.bench.pace", "1.0.0", objects);

TUTTI_EXPORT const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)
{
    (void)host_abi;
    return &plugin;
}
