/* plugin.c - memory_snapshot: where a training step's results lie in memory, as JSON and as a picture. */
/* SPDX-License-Identifier: Apache-2.0 */
#define TUTTI_USE_MINOR 1 /* tutti.plan/1 */
#include "../callback.h"
#include "../one_item.h"
#include "../plan_files.h"

#include <stdio.h>

/* All of one type: checkpoints have it. */
typedef struct progress {
    int64_t skip;  /* batches that are left to skip */
    int64_t start; /* of the interval; -1: not begun */
    int64_t done;
} progress;

typedef struct memory_snapshot {
    plan_files files;
    progress progress;
    tutti_time interval;
} memory_snapshot;

static tutti_status memory_snapshot_open(const tutti_host *host, const tutti_params *params,
                                         void **ret_self, tutti_error *err)
{
    memory_snapshot m = {
        .progress = {.skip = tutti_param_i64(params, "skip_batches"), .start = -1},
        .interval = tutti_param_time(params, "interval")};
    const tutti_status s = plan_files_init(&m.files, "memory_snapshot", host, params, err);
    memory_snapshot *self = s ? NULL : malloc(sizeof *self);
    if (!self)
        return s ? s : tutti_fail(err, TUTTI_E_NOMEM, "memory_snapshot: no memory");
    *self = m;
    *ret_self = self;
    return TUTTI_OK;
}

static tutti_status memory_snapshot_check(const tutti_params *params, tutti_error *err)
{
    if (tutti_param_time(params, "interval").count <= 0)
        return tutti_fail(err, TUTTI_E_RANGE, "memory_snapshot: interval must be above 0");
    return plan_files_check("memory_snapshot", params, err);
}

static tutti_status take_snapshot(const plan_files *m, const tutti_timestamp *t,
                                  tutti_error *err)
{
    tutti_plan_facts facts = {.struct_size = sizeof facts};
    tutti_status s = m->plan->describe(m->plan->ctx, &facts, err);
    if (!s)
        s = plan_files_json(m, t, ".json", "", &facts, err);
    return s ? s : plan_files_picture(m, t, ".html", &facts, err);
}

static tutti_status memory_snapshot_event(void *self, const tutti_event *event,
                                          tutti_error *err)
{
    memory_snapshot *m = self;
    progress *p = &m->progress;
    if (event->id == TUTTI_EVENT_FIT_START)
        return plan_files_claim(&m->files, event->time, err);
    if (p->done)
        return TUTTI_OK;
    const int64_t now = tutti_timestamp_get(event->time, m->interval.unit);
    if (event->id == TUTTI_EVENT_BATCH_START) {
        p->start = p->start < 0 && p->skip == 0 ? now : p->start;
        return TUTTI_OK;
    }
    if (p->skip > 0) {
        p->skip--;
        return TUTTI_OK;
    }
    if (p->start < 0 || now < p->start + m->interval.count)
        return TUTTI_OK;
    p->done = 1;
    return take_snapshot(&m->files, event->time, err);
}

CALLBACK_KEEPS(memory_snapshot, progress, .dim = {3}, .rank = 1, .dtype = TUTTI_I64)

CALLBACK_PLUGIN_CHECKED("memory_snapshot", memory_snapshot_check, .open = memory_snapshot_open,
                        .run_event = memory_snapshot_event, .close = callback_close,
                        .query = callback_query);
