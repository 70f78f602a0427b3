/* observers.c - traces and the profiler of a run. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/context/observers.h"

#include <stdlib.h>
#include <string.h>

static int64_t batches(void *ctx)
{
    return ((const run_context *)ctx)->clock.batches_per_epoch;
}

tutti_status observers_open(observers *o, run_context *run, tutti_error *err)
{
    o->log = &run->log;
    if (!run->file->observers.profiled)
        return TUTTI_OK;
    const profiler_run described = {run->file->name, run->folder, &run->clock.now, batches,
                                    run};
    return profiler_create(&run->file->observers.profiler, &described, &o->profiler, err);
}

static tutti_status open_trace(observers *o, run_context *run, const trace_spec *spec,
                               tutti_error *err)
{
    trace_file **file = &o->traces[o->ntraces];
    const tutti_status s = trace_file_open(spec, run->folder, file, err);
    if (s)
        return s;
    for (size_t k = 0; k < o->ntraces; k++)
        trace_file_share(*file, o->traces[k]);
    o->ntraces++;
    return engine_trace_to(run->engine, trace_file_take, *file, spec->all, err);
}

tutti_status observers_start(observers *o, run_context *run, bool resumes, tutti_error *err)
{
    const trace_specs *specs = &run->file->observers.traces;
    tutti_status s = TUTTI_OK;
    if (o->started)
        return TUTTI_OK;
    o->started = true;
    if (!o->writes)
        return TUTTI_OK;
    o->traces = calloc(specs->count + 1, sizeof *o->traces);
    if (!o->traces)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for traces");
    for (size_t k = 0; k < specs->count && !s; k++)
        s = open_trace(o, run, &specs->items[k], err);
    if (s || !o->profiler)
        return s;
    s = profiler_start(o->profiler, resumes, err);
    if (s == TUTTI_OK)
        engine_profile(run->engine, o->profiler);
    return s;
}

void observers_begin_again(const observers *o)
{
    for (size_t k = 0; k < o->ntraces; k++)
        if (trace_file_is_first(o->traces[k]))
            trace_file_set_mark(o->traces[k], (trace_mark){0, 0});
}

void observers_go_on(observers *o, run_context *run)
{
    for (size_t k = 0; k < o->ntraces; k++) {
        tutti_error e = TUTTI_ERROR_INIT;
        if (trace_file_rewind(o->traces[k], &e))
            run_log_message(&run->log, TUTTI_LOG_WARNING, "train", e.text);
    }
}

void observers_open_unit(const observers *o, int unit)
{
    for (size_t k = 0; k < o->ntraces; k++)
        trace_file_open_unit(o->traces[k], unit);
    if (o->log)
        log_units_open(&o->log->units, unit);
}

void observers_close_unit(const observers *o, int unit)
{
    for (size_t k = 0; k < o->ntraces; k++)
        trace_file_close_unit(o->traces[k], unit);
    if (o->log)
        log_units_close(&o->log->units, unit);
}

void observers_take_back(observers *o, run_context *run, int unit)
{
    for (size_t k = 0; k < o->ntraces; k++) {
        tutti_error e = TUTTI_ERROR_INIT;
        if (trace_file_take_back(o->traces[k], unit, &e))
            run_log_message(&run->log, TUTTI_LOG_WARNING, "train", e.text);
    }
    log_units_leave(&run->log.units, unit);
}

void observers_sync(const observers *o)
{
    for (size_t k = 0; k < o->ntraces; k++)
        (void)trace_file_mark(o->traces[k]); /* what fails shows when it is closed */
}

void observers_finish(observers *o, run_context *run)
{
    tutti_error e = TUTTI_ERROR_INIT;
    if (o->started && o->writes && o->profiler && profiler_finish(o->profiler, &e))
        run_log_message(&run->log, TUTTI_LOG_ERROR, "profiler", e.text);
    if (run->engine)
        engine_profile(run->engine, NULL);
}

void observers_close(observers *o, run_context *run)
{
    for (size_t k = 0; k < o->ntraces; k++) {
        tutti_error e = TUTTI_ERROR_INIT;
        if (trace_file_close(o->traces[k], &e))
            run_log_message(&run->log, TUTTI_LOG_ERROR,
                            run->file->observers.traces.items[k].file, e.text);
    }
    free(o->traces);
    step_profile_stop(&o->steps, run->net);
    profiler_destroy(o->profiler);
}
