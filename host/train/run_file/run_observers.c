/* run_observers.c - handlers, traces and profiler of a run file. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/run_file/run_reader.h"

#include <stdlib.h>

void run_read_observers(run_reader *r, const json_node *root)
{
    run_file *run = r->run;
    const json_node *profiler_at = json_get(root, "profiler");
    bindings_read(r->registry, json_get(root, "handlers"), &run->observers.handlers, r->faults);
    traces_read(json_get(root, "traces"), &run->observers.traces, r->faults);
    run->observers.profiled = profiler_at != NULL;
    if (profiler_at)
        profiler_read(profiler_at, &run->observers.profiler, r->faults);
}

void run_observers_fini(run_file *run)
{
    bindings_free(&run->observers.handlers);
    free(run->observers.traces.items);
}
