/* outbox.h - records on their way to a destination that may be slow, down or gone: a queue with a thread of its
 * own, a file for what the memory does not hold, one sentence on trouble and one when it is over. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LOGGERS_OUTBOX_H
#define LOGGERS_OUTBOX_H

#include "tutti/log.h"
#include "tutti/tutti.h"

#include <stdbool.h>

/* Whoever logs calls outbox_put, which writes to memory or to a file and never waits for the destination.  The
 * outbox's thread hands the records on, in order, and again until they are taken: waits grow from 0.1 s to 30 s.
 * What is not sent when the run ends, or is killed behind a sync, waits in the file for the next run in its
 * folder.  A record arrives once; twice when the process is killed while it is being sent. */
typedef struct outbox outbox;

typedef struct outbox_record {
    const char *data;
    size_t size;
} outbox_record;

typedef struct outbox_config {
    const char *who;         /* "pipe"; begins each sentence */
    const char *path;        /* of the file; copied */
    const tutti_log_v1 *log; /* may be NULL */
    size_t memory;           /* bytes that wait before the file is used */
    int64_t limit_ms;        /* for what is left at the end */
    const char *what;        /* waits, in sentences; NULL: "what is logged" */
    void *ctx;
    /* Sends records, n > 0, in order; the first *ret_sent (0 on entry) have arrived, also when it fails.
     * Returns early, with what has arrived, when outbox_must_end.  Errors: E_ARG the destination refuses
     * record *ret_sent for good, which is dropped; any other: it is tried again.  On the outbox's thread. */
    tutti_status (*send)(void *ctx, const outbox_record *records, uint32_t n,
                         uint32_t *ret_sent, tutti_error *err);
    /* After the last send.  NULL: nothing to do.  On the outbox's thread. */
    tutti_status (*finish)(void *ctx, tutti_error *err);
} outbox_config;

/* Strings but the path, and ctx, outlive it.  [control] */
TUTTI_NODISCARD tutti_status outbox_create(const outbox_config *config, outbox **ret_outbox,
                                           tutti_error *err);
/* Sends what is left, for as long as the limit, keeps the rest in the file, and frees it.  NULL is
 * allowed.  [control] */
void outbox_destroy(outbox *o);

/* An event of the run: INIT takes up what an earlier run has left, the next one starts the thread.  [step] */
TUTTI_NODISCARD tutti_status outbox_event(outbox *o, const tutti_event *event,
                                          tutti_error *err);
/* Copies the record.  [step] */
void outbox_put(outbox *o, const char *data, size_t size);
/* All that is not yet sent is on the disk.  Says once what keeps it from being so.  [step] */
void outbox_sync(outbox *o);
/* What an attempt that left no checkpoint did not get sent is set aside.  Before the thread starts.  [control] */
TUTTI_NODISCARD tutti_status outbox_begin_again(outbox *o, tutti_error *err);

/* ---- for send and finish ---- */

/* The time for the end is over: whoever sends returns at once. */
bool outbox_must_end(outbox *o);
/* Becomes readable then. */
int outbox_end_fd(const outbox *o);
/* The run is over, and what is left is being sent. */
bool outbox_is_last(outbox *o);
/* Milliseconds until outbox_must_end; -1 while the run goes on. */
int64_t outbox_time_left(outbox *o);
/* Waits; false when outbox_must_end. */
bool outbox_wait(outbox *o, int64_t ms);

#endif
