/* outbox_internal.h - what an outbox is made of: the queue and its file, the thread, sentences to be said. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_LOGGERS_OUTBOX_INTERNAL_H
#define PLUGIN_LOGGERS_OUTBOX_INTERNAL_H

#include "outbox.h"
#include "spool.h"

#include <pthread.h>

enum { BATCH_BYTES = 65536, BATCH_RECORDS = 256, NOTES = 8 };

typedef struct note {
    int32_t level;
    char text[760];
} note;

/* The lock guards everything below it.  The order of records is: the file's, the memory's. */
struct outbox {
    outbox_config config;
    char path[SPOOL_PATH];
    pthread_t thread;
    bool runs;  /* the thread has been started; [step] */
    int end_fd; /* readable once must_end */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    spool spool;
    char *memory; /* whole frames in [first, last) */
    size_t first, last;
    uint64_t lost;    /* records that neither memory nor disk could hold */
    uint64_t refused; /* by the destination, for good */
    bool in_trouble;  /* it was said that the destination fails */
    bool disk_failed; /* it was said that the file cannot be written */
    bool is_last, must_end, has_ended, is_closed;
    int64_t deadline_ms; /* of the last sends, by now_ms */
    int64_t wait_ms;     /* before the next try */
    note notes[NOTES];
    uint32_t nnotes;
    struct { /* the thread's own: what it sends */
        char *bytes;
        size_t capacity;
        outbox_record records[BATCH_RECORDS];
    } batch;
};

static inline void outbox_lock(outbox *o)
{
    (void)pthread_mutex_lock(&o->lock);
}

static inline void outbox_unlock(outbox *o)
{
    (void)pthread_mutex_unlock(&o->lock);
}

/* ---- outbox_queue.c; locked but for outbox_tell ---- */

/* A sentence: the thread writes it down, whoever logs says it. */
TUTTI_PRINTF(3, 4) void outbox_note(outbox *o, int32_t level, const char *format, ...);
/* The file cannot be written: a sentence, the first time. */
void outbox_note_disk(outbox *o, const tutti_error *why);
/* Says them.  Not locked: the log may come back with a message. */
void outbox_tell(outbox *o);

bool outbox_is_empty(const outbox *o);
/* Behind the last record, in memory or, where that is full, in the file; false: neither holds it. */
bool outbox_append(outbox *o, const char *data, size_t size);
/* All of the memory goes to the file. */
bool outbox_spill(outbox *o);
/* Copies a batch from the front to the thread's buffer: as many whole records as it holds, one at least.
 * Returns bytes; 0: it cannot be read. */
size_t outbox_peek(outbox *o);
/* The records in `size` bytes of the batch. */
uint32_t outbox_parse(outbox *o, size_t size);
/* The first n records leave the front, wherever they are by now. */
void outbox_take(outbox *o, uint32_t n);
uint64_t outbox_count(const outbox *o);

#endif
