/* plugin.c - memory_snapshot: where a training step's results lie in memory, as JSON and as a picture. */
/* SPDX-License-Identifier: Apache-2.0 */
#define TUTTI_USE_MINOR 1 /* tutti.plan/1 */
#include "../callback.h"
#include "../plan_files.h"

typedef struct memory_snapshot {
    plan_files files;
    int64_t skip;  /* batches that are left to skip */
    int64_t start; /* of the interval; -1: not begun */
    tutti_time interval;
    bool done;
} memory_snapshot;

static tutti_status snapshot_open(const tutti_host *host, const tutti_params *params,
                                  void **ret_self, tutti_error *err)
{
    memory_snapshot m = {.skip = tutti_param_i64(params, "skip_batches"),
                         .start = -1,
                         .interval = tutti_param_time(params, "interval")};
    const tutti_status s = plan_files_init(&m.files, "memory_snapshot", host, params, err);
    memory_snapshot *self = s ? NULL : malloc(sizeof *self);
    if (!self)
        return s ? s : tutti_fail(err, TUTTI_E_NOMEM, "memory_snapshot: no memory");
    *self = m;
    *ret_self = self;
    return TUTTI_OK;
}

static tutti_status snapshot_check(const tutti_params *params, tutti_error *err)
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

static tutti_status snapshot_event(void *self, const tutti_event *event, tutti_error *err)
{
    memory_snapshot *m = self;
    if (event->id == TUTTI_EVENT_INIT)
        return plan_files_claim(&m->files, err);
    if (m->done)
        return TUTTI_OK;
    const int64_t now = tutti_timestamp_get(event->time, m->interval.unit);
    if (event->id == TUTTI_EVENT_BATCH_START) {
        m->start = m->start < 0 && m->skip == 0 ? now : m->start;
        return TUTTI_OK;
    }
    if (m->skip > 0) {
        m->skip--;
        return TUTTI_OK;
    }
    if (m->start < 0 || now < m->start + m->interval.count)
        return TUTTI_OK;
    m->done = true;
    return take_snapshot(&m->files, event->time, err);
}

CALLBACK_PLUGIN_CHECKED("memory_snapshot", snapshot_check, .open = snapshot_open,
                        .run_event = snapshot_event, .close = callback_close);
