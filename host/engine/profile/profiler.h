/* profiler.h - a run's time line: spans of events, algorithms and callbacks, counters, as trace files. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_ENGINE_PROFILE_PROFILER_H
#define HOST_ENGINE_PROFILE_PROFILER_H

#include "base/faults.h"
#include "tutti/profiler.h"
#include "tutti/tutti.h"

#include <stdbool.h>

typedef struct profiler profiler; /* opaque; as in engine.h */

/* Which batches of an epoch are recorded: after skip_first, cycles of wait, warmup and active batches,
 * `repeat` times (0: until the epoch ends).  The last batch of a cycle or epoch writes the trace. */
typedef struct profile_schedule {
    int64_t skip_first;
    int64_t wait;
    int64_t warmup;
    int64_t active;
    int64_t repeat;
} profile_schedule;

/* TUTTI_PROFILE_* of batch `batch` (from 0) of an epoch of `batches` (-1: not known) whose first
 * `resumed` batches were run before a resume. */
int32_t profile_action(const profile_schedule *s, int64_t batch, int64_t batches,
                       int64_t resumed);

/* "profiler" of a run file.  Texts are borrowed from it. */
typedef struct profiler_options {
    profile_schedule schedule;
    const char *folder;   /* relative to the run's */
    const char *filename; /* with {run_name}, {rank}, {epoch}, {batch}; as the next */
    const char *merged_trace_filename;
    int64_t num_traces_to_keep; /* -1: all; not counting the merged one */
    bool overwrite;
    bool sys_prof_cpu;
    bool sys_prof_memory;
} profiler_options;

/* Everything wrong goes to `f`. */
void profiler_read(const json_node *node, profiler_options *ret_options, faults *f);

typedef struct profiler_run {
    const char *name;
    const char *folder; /* what options.folder is relative to */
    const tutti_timestamp *time;
    int64_t (*batches)(void *ctx); /* in an epoch; -1 when not known */
    void *ctx;
} profiler_run;

TUTTI_NODISCARD tutti_status profiler_create(const profiler_options *options,
                                             const profiler_run *run, profiler **ret_profiler,
                                             tutti_error *err);
/* Makes the folder.  What `resumes` adds to the merged trace that is there.  Errors: E_EXISTS when a trace is
 * there that may not be written over; E_IO. */
TUTTI_NODISCARD tutti_status profiler_start(profiler *p, bool resumes, tutti_error *err);
/* Writes what was recorded and not written yet.  [control] */
TUTTI_NODISCARD tutti_status profiler_finish(profiler *p, tutti_error *err);
void profiler_destroy(profiler *p); /* NULL is allowed */

/* Around an event's handlers: the span of a pair lies between the handlers of both, so an after-event
 * ends it before them, and a before-event starts it after them.  profiler_leave writes the trace after
 * the batch that says so; then its error is the file's.  [step] */
void profiler_enter(profiler *p, const tutti_event *event);
TUTTI_NODISCARD tutti_status profiler_leave(profiler *p, const tutti_event *event,
                                            tutti_error *err);
/* One participant at an event: "algorithm/mixup/event/before_loss".  [step] */
uint32_t profiler_begin(profiler *p, const char *kind, const char *name, const char *event);
/* Work between events: "update/optimizer". */
uint32_t profiler_begin_work(profiler *p, const char *name);
void profiler_end(profiler *p, uint32_t marker);

/* Of work that is over, right inside of the innermost open span: its time line's part, with categories of its own, and values
 * at its end (`n` may be 0) as a counter.  Times are CLOCK_MONOTONIC's.  [step] */
void profiler_span(profiler *p, const char *name, const char *categories, int64_t begin_ns,
                   int64_t end_ns);
void profiler_count(profiler *p, const char *name, const char *categories,
                    const tutti_named_value *values, uint32_t n);
/* Whether the batch under way is recorded and no warm-up. */
bool profiler_measures(const profiler *p);

/* What the spans of one name took that began in measured batches; of profiler_span those with the same categories. */
typedef struct profiler_total {
    const char *name; /* borrowed: "event/forward", "algorithm/mixup/event/before_forward" */
    uint64_t count;
    int64_t ns;
    int64_t own_ns; /* of these, outside of spans within */
} profiler_total;
/* The k-th name's; false: there are no more. */
bool profiler_total_at(const profiler *p, uint32_t k, profiler_total *ret_total);
/* Where the traces of the whole run are; the caller frees it.  NULL when out of memory. */
char *profiler_merged_path(const profiler *p);

/* tutti.profiler/1; lives as long as the profiler. */
const tutti_profiler_v1 *profiler_service(profiler *p);

#endif
