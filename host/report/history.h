/* history.h - what a run has logged, as time series, warnings, texts and what its algorithms did. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_REPORT_HISTORY_H
#define HOST_REPORT_HISTORY_H

#include "tutti/base.h"

#include <stdbool.h>
#include <stddef.h>

/* The values of one name, in the order of batches. */
typedef struct series {
    char *name;
    double *step;  /* the batch */
    double *time;  /* Unix seconds */
    double *value; /* may be NaN or infinite */
    size_t count;
    size_t capacity;
} series;

typedef struct log_message {
    double time; /* Unix seconds */
    char *level; /* "warning" */
    char *component;
    char *text;
    int64_t batch; /* of the metrics before it */
} log_message;

/* One call of an algorithm at one event. */
typedef struct log_call {
    int64_t batch;
    float us; /* how long it took; 0: not known */
    bool ran;
} log_call;

typedef struct call_row {
    char *algorithm;
    char *event;
    log_call *calls;
    size_t count;
    size_t capacity;
} call_row;

/* A table or images, as a line of the log that is read again when it is wanted. */
typedef struct log_media {
    int64_t batch;
    char *name;     /* "confusion_matrix/test"; "_step_BATCH" at its end is left out */
    int64_t offset; /* of the line in the log */
    bool images;
} log_media;

typedef struct history {
    series *series;
    size_t nseries;
    log_message
        *messages; /* warnings and errors, and what callbacks tell, such as generated texts */
    size_t nmessages;
    call_row *rows;
    size_t nrows;
    log_media *media;
    size_t nmedia;
    size_t media_capacity;
    double first; /* Unix seconds of the first and the last line; 0: there is none */
    double last;
    int64_t batch;  /* the greatest */
    int64_t offset; /* behind the last whole line that was read */
    size_t next;    /* where the next value of a line probably is */
    bool begins;    /* a process has begun to log, and no value of it is read */
    bool nomem;
} history;

/* Reads a log of the logger jsonl, from `offset` on; what an earlier run of the same file has logged is left out.  A
 * last line without its end is left for the next time.  The caller finishes *h, also on failure.
 * Errors: E_NOTFOUND, E_IO, E_NOMEM.  [any] */
TUTTI_NODISCARD tutti_status history_read(history *h, const char *path, tutti_error *err);
/* Adds the calls of a file of "traces", of either format.  Errors: as above. */
TUTTI_NODISCARD tutti_status history_read_traces(history *h, const char *path,
                                                 tutti_error *err);
void history_fini(history *h);

/* NULL: nothing was logged under that name. */
const series *history_find(const history *h, const char *name);
/* Whether less is better, by the name: loss, error, perplexity, entropy. */
bool history_less_is_better(const char *name);
/* The best value that is a number, and its batch; NaN: there is none. */
double series_best(const series *s, bool less, double *ret_step);

#endif
