/* observe.c - what a run records about itself: traces of algorithms, the profiler's time line. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/trainer_internal.h"

#include <stdlib.h>

void run_observers_read(run_file *run, registry *r, const json_node *root, faults *f)
{
    const json_node *profiler_at = json_get(root, "profiler");
    bindings_read(r, json_get(root, "handlers"), &run->handlers, f);
    traces_read(json_get(root, "traces"), &run->traces, f);
    run->profiled = profiler_at != NULL;
    if (profiler_at)
        profiler_read(profiler_at, &run->profiler, f);
}

void run_observers_free(run_file *run)
{
    bindings_free(&run->handlers);
    free(run->traces.items);
}

static int64_t batches(void *ctx)
{
    return loader_batches(((trainer *)ctx)->train.loader);
}

tutti_status trainer_bind_handlers(trainer *t, tutti_error *err)
{
    binding_list *list = &t->run->handlers;
    for (size_t k = 0; k < list->count; k++) {
        const tutti_status s = engine_bind(t->engine, list->items[k], err);
        if (s)
            return s;
        list->items[k] = NULL; /* the engine has it */
    }
    return TUTTI_OK;
}

tutti_status trainer_open_profiler(trainer *t, tutti_error *err)
{
    if (!t->run->profiled)
        return TUTTI_OK;
    const profiler_run run = {t->run->name, t->folder, &t->time, batches, t};
    return profiler_create(&t->run->profiler, &run, &t->profiler, err);
}

tutti_status trainer_observe(trainer *t, tutti_error *err)
{
    const trace_specs *specs = &t->run->traces;
    if (t->observed)
        return TUTTI_OK;
    t->observed = true;
    t->traces = calloc(specs->count + 1, sizeof *t->traces);
    if (!t->traces)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for traces");
    for (size_t k = 0; k < specs->count; k++) {
        tutti_status s = trace_file_open(&specs->items[k], t->folder, &t->traces[k], err);
        if (s == TUTTI_OK) {
            t->ntraces = k + 1;
            s = engine_trace_to(t->engine, trace_file_take, t->traces[k], specs->items[k].all,
                                err);
        }
        if (s)
            return s;
    }
    if (!t->profiler)
        return TUTTI_OK;
    const tutti_status s = profiler_start(t->profiler, err);
    if (s == TUTTI_OK)
        engine_profile(t->engine, t->profiler);
    return s;
}

void trainer_end_observation(trainer *t)
{
    tutti_error e = TUTTI_ERROR_INIT;
    if (t->observed && t->profiler && profiler_finish(t->profiler, &e))
        trainer_message(t, TUTTI_LOG_ERROR, "profiler", e.text);
    if (t->engine)
        engine_profile(t->engine, NULL);
}

void trainer_free_observers(trainer *t)
{
    for (size_t k = 0; k < t->ntraces; k++) {
        tutti_error e = TUTTI_ERROR_INIT;
        if (trace_file_close(t->traces[k], &e))
            trainer_message(t, TUTTI_LOG_ERROR, t->run->traces.items[k].file, e.text);
    }
    free(t->traces);
    profiler_destroy(t->profiler);
}
