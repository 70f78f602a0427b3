/* profile_internal.h - the parts of a profiler, for its own files. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_ENGINE_PROFILE_PROFILE_INTERNAL_H
#define HOST_ENGINE_PROFILE_PROFILE_INTERNAL_H

#include "engine/profile/profiler.h"

#include <sys/types.h>

typedef struct profile_sum {
    uint64_t count;
    int64_t ns;
    int64_t own_ns; /* not inside of spans within */
} profile_sum;

typedef struct marker {
    char *name;
    char *categories;
    uint32_t actions; /* bits */
    bool apart;       /* another one with that name has other categories */
    int32_t open;     /* started and not finished */
    profile_sum sum;  /* of spans that began in a measured batch */
} marker;

/* One line of the trace.  A counter's values are values[first, first + count). */
typedef struct record {
    int64_t at_ns;
    int64_t epoch;
    int64_t batch;
    uint32_t marker;
    uint32_t first;
    uint32_t count;
    char phase; /* B, E, i or C of the trace event format */
} record;

typedef struct counted {
    char name[32];
    double value;
} counted;

typedef struct open_span {
    uint32_t marker;
    bool recorded;
    bool measured;
    int64_t begin_ns;
    int64_t inner_ns; /* of spans within that are over */
} open_span;

/* CPU time of the process at a moment. */
typedef struct cpu_usage {
    int64_t cpu_ns;
    int64_t wall_ns;
} cpu_usage;

struct profiler {
    profiler_options options;
    profiler_run run;
    tutti_profiler_v1 service;
    char *folder;
    marker *markers;
    uint32_t nmarkers;
    uint32_t *table; /* hash of names -> marker + 1 */
    uint32_t table_size;
    record *records;
    size_t nrecords, records_capacity;
    counted *values;
    uint32_t nvalues, values_capacity;
    open_span *open; /* innermost last */
    uint32_t nopen, open_capacity;
    int32_t action;
    bool worth_saving; /* something of a batch was recorded since the last file */
    bool lost; /* memory ran out, or a file could not be written: records nothing more */
    int64_t resumed;
    cpu_usage usage; /* at the last reading */
    char **files;    /* written, oldest first */
    size_t nfiles;
    pid_t thread;
};

/* profile_record.c */
/* Whether the marker is recorded at the present action. */
bool profile_records(const profiler *p, uint32_t marker);
/* Appends what is so now, or was so at `at_ns`; *values are copied. */
void profile_record(profiler *p, char phase, uint32_t marker, const tutti_named_value *values,
                    uint32_t n);
void profile_record_at(profiler *p, char phase, uint32_t marker, int64_t at_ns,
                       const tutti_named_value *values, uint32_t n);
void profile_start(profiler *p, uint32_t marker);
/* Ends the innermost span of the marker and all that lie inside it: in the format, an end closes what
 * began last. */
void profile_finish(profiler *p, uint32_t marker);
/* One that is over, right inside of the innermost open one. */
void profile_span(profiler *p, uint32_t marker, int64_t begin_ns, int64_t end_ns);

/* profile_file.c: writes all records to a file of their own and to the merged one, deletes old
 * files, and starts over with the spans that are open. */
tutti_status profile_save(profiler *p, tutti_error *err);
/* `text` with {run_name} and the like filled in; the caller frees it.  NULL when out of memory. */
char *profile_path(const profiler *p, const char *text);

#endif
