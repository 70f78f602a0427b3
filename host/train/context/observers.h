/* observers.h - what a run records about itself: traces of algorithms, the profiler's time line. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_CONTEXT_OBSERVERS_H
#define HOST_TRAIN_CONTEXT_OBSERVERS_H

#include "train/context/run_context.h"
#include "train/context/step_profile.h"

typedef struct observers {
    run_log *log;       /* borrowed: rows of loggers come again with traces */
    profiler *profiler; /* NULL when the run file has none */
    step_profile steps; /* its profiler is NULL where operations are not observed */
    trace_file **traces;
    size_t ntraces;
    bool writes; /* set by who opens: whether this process does */
    bool started;
} observers;

/* Makes the profiler, writes no file.  [control] */
TUTTI_NODISCARD tutti_status observers_open(observers *o, run_context *run, tutti_error *err);
/* Opens the files, when training begins; the second call does nothing.  A run that is taken up, `resumes`, adds to
 * the merged trace that is there.  [control] */
TUTTI_NODISCARD tutti_status observers_start(observers *o, run_context *run, bool resumes,
                                             tutti_error *err);
/* A run that begins anew, since an earlier process was killed before it saved: none of its traces holds. */
void observers_begin_again(const observers *o);
/* Once there is something to train: traces of batches that are trained again go aside.  [control] */
void observers_go_on(observers *o, run_context *run);
/* A unit of trace.h begins in every file of traces and for loggers, unless it is open. */
void observers_open_unit(const observers *o, int unit);
/* It has come to its end: what it has traced holds. */
void observers_close_unit(const observers *o, int unit);
/* The run that goes on does it again: what it has traced so far goes aside, but in a file that is named twice. */
void observers_take_back(observers *o, run_context *run, int unit);
/* Puts traces on the disk. */
void observers_sync(const observers *o);
/* Ends the profile, while the engine's objects are still there. */
void observers_finish(observers *o, run_context *run);
void observers_close(observers *o, run_context *run);

#endif
