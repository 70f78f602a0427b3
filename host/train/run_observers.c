/* run_observers.c - handlers, traces and profiler of a run file. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/run_file.h"

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
