/* trace.h - traces of algorithms as text: lines in Composer's form, or JSON lines, in a file. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_ENGINE_TRACE_H
#define HOST_ENGINE_TRACE_H

#include "base/faults.h"
#include "tutti/logger.h"

#include <stdbool.h>

/* "[STEP=1][layer_freezing/EPOCH_START=0]": 1 where it ran.  Returns `text`. */
const char *trace_line(const tutti_trace *t, char *text, size_t size);

typedef struct trace_file trace_file; /* opaque */

/* One of "traces" in a run file: {"file": "traces.txt", "format": "lines"}.  `file` is borrowed. */
typedef struct trace_spec {
    const char *file;
    bool json; /* a JSON object a line, with key, exit code, order and duration */
    bool all;  /* those that did not run, too */
} trace_spec;
typedef struct trace_specs {
    trace_spec *items;
    size_t count;
} trace_specs;
/* Everything wrong goes to `f`; the caller frees items. */
void traces_read(const json_node *list, trace_specs *ret_specs, faults *f);

/* Opens the file (relative to `folder`, which is made if need be) for appending. */
TUTTI_NODISCARD tutti_status trace_file_open(const trace_spec *spec, const char *folder,
                                             trace_file **ret_file, tutti_error *err);
void trace_file_take(void *file, const tutti_trace *t); /* a sink of engine_trace_to */
/* A place in the file. */
typedef struct trace_mark {
    int64_t bytes; /* before it; -1: there is none, in a pipe or on a full disk */
    uint64_t hash; /* of the last TRACE_MARK_BYTES of them */
} trace_mark;
enum { TRACE_MARK_BYTES = 4096 };

/* Puts on the disk what was taken; where the file ends then, or the first unit that is open begins: the run that goes on
 * from there does it again. */
trace_mark trace_file_mark(const trace_file *file);
/* The run goes on from a checkpoint that knows the file up to `mark`: trace_file_rewind goes there.  0 bytes: none of it. */
void trace_file_set_mark(trace_file *file, trace_mark mark);
/* What earlier processes have behind that mark goes to a file beside it, FILE.undone; nothing without one.  Errors: E_IO;
 * E_FORMAT the file is another one, which stays as it is. */
TUTTI_NODISCARD tutti_status trace_file_rewind(trace_file *file, tutti_error *err);
/* Where both write to one file, what is taken holds from then on, whatever unit it is of. */
void trace_file_share(trace_file *file, trace_file *earlier);
/* A file that is named twice has its place once: whether `file` is the first of it. */
bool trace_file_is_first(const trace_file *file);
/* What is done again where it is stopped before its end. */
enum { TRACE_BATCH, TRACE_EVALUATION, TRACE_UNITS };
/* One begins here, unless it is open. */
void trace_file_open_unit(trace_file *file, int unit);
/* It has come to its end: its lines hold. */
void trace_file_close_unit(trace_file *file, int unit);
/* Its lines so far, where it is open, go to FILE.undone.  Errors: E_IO. */
TUTTI_NODISCARD tutti_status trace_file_take_back(trace_file *file, int unit, tutti_error *err);
/* E_IO when something could not be written.  NULL is allowed. */
tutti_status trace_file_close(trace_file *file, tutti_error *err);

#endif
