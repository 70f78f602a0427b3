/* run_context.c - opening what a run names, its device, its time. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/context/run_context.h"

#include "graph/runtime/device_memory.h"
#include "train/context/signals.h"

#include <stdio.h>
#include <string.h>

tutti_status context_open(run_context *run, run_part *part, instance **ret_instance,
                          tutti_error *err)
{
    const tutti_status s = instance_open(part->object, part->name, part->params, run->services,
                                         run->services_ctx, ret_instance, err);
    if (s == TUTTI_OK)
        part->params = NULL; /* the instance has them */
    return s;
}

/* The GPU of this process: neighbours take one each, unless the launcher lets each see its own alone. */
static uint32_t place(const run_context *run, uint32_t first)
{
    return run->device_place && tutti_device_cuda()->count(NULL) > 1 ? first + run->device_place
                                                                     : first;
}

/* Takes a GPU where there is one that works; *ret_taken says so.  Device code that was installed wrongly is an
 * error: the CPU instead would be a surprise.  Any other failure is kept to be announced, unless there is no GPU:
 * a driver too old for the runtime counts none, but has one. */
static tutti_status try_gpu(run_context *run, bool *ret_taken, tutti_error *err)
{
    tutti_error why = TUTTI_ERROR_INIT;
    const tutti_status s = backend_open(NULL, "cuda", NULL, place(run, 0), NULL,
                                        &run->file->device.cuda, &run->device, &why);
    *ret_taken = s == TUTTI_OK;
    const bool counted = tutti_device_cuda()->count(NULL) > 0;
    if (!s || (s == TUTTI_E_NOTFOUND && !counted))
        return TUTTI_OK;
    if (counted && (s == TUTTI_E_NOTFOUND || s == TUTTI_E_TRUST || s == TUTTI_E_VERSION ||
                    s == TUTTI_E_FORMAT))
        return tutti_fail(err, s, "%s; \"device\": \"cpu\" does without the GPU", why.text);
    (void)snprintf(run->device_complaint, sizeof run->device_complaint,
                   "the run takes the CPU: %.400s", why.text);
    return TUTTI_OK;
}

tutti_status context_open_device(run_context *run, tutti_error *err)
{
    run_device *d = &run->file->device;
    bool taken = false;
    d->cuda.first = run->file->numerics.deterministic != RUN_REPEATS_RUN;
    const tutti_status s = d->automatic ? try_gpu(run, &taken, err) : TUTTI_OK;
    if (s)
        return s;
    if (taken) {
        d->part.name = "cuda";
        return TUTTI_OK;
    }
    if (!d->part.object)
        return backend_open(NULL, d->part.name, NULL,
                            strcmp(d->part.name, "cuda") == 0 ? place(run, d->index) : d->index,
                            NULL, &d->cuda, &run->device, err);
    return backend_open(d->part.object, d->part.name, &d->part.params, d->index, run->services,
                        run->services_ctx, &run->device, err);
}

const tutti_device *context_device(const run_context *run)
{
    const tutti_device *d = &run->device.device;
    return !d->table || d->table == tutti_device_cpu() ? NULL : d;
}

bool context_is_remote(const run_context *run)
{
    return !device_is_host(context_device(run));
}

tutti_status context_step_device(run_context *run, tutti_error *err)
{
    const tutti_device *d = &run->device.device;
    return d->table->step ? d->table->step(d->device, err) : TUTTI_OK;
}

void context_announce_device(run_context *run)
{
    if (*run->device_complaint)
        run_log_message(&run->log, TUTTI_LOG_WARNING, "device", run->device_complaint);
}

void context_tune_message(run_context *run)
{
    const char *text = run->net ? net_autotune_complaint(run->net) : NULL;
    if (text)
        run_log_message(&run->log, TUTTI_LOG_WARNING, "plan", text);
}

void clock_stop(run_clock *c)
{
    const int32_t unit =
        c->planned.unit == TUTTI_UNIT_EPOCH ? TUTTI_UNIT_BATCH : c->planned.unit;
    c->max_duration = (tutti_time){tutti_timestamp_get(&c->now, unit), 0.0, unit, 0};
    c->stopped = true;
}

bool run_is_over(const run_context *run)
{
    const tutti_time most = run->clock.max_duration;
    return tutti_timestamp_get(&run->clock.now, most.unit) >= most.count;
}

bool run_is_done(const run_context *run)
{
    return trainer_signal() || run_is_over(run);
}
