/* spool.h - a file of records that wait: frames behind a header, taken from the front, whole after a kill. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LOGGERS_SPOOL_H
#define LOGGERS_SPOOL_H

#include "tutti/base.h"

#include <stdbool.h>

enum { SPOOL_PATH = 768 };

/* Before each record, in the machine's byte order. */
typedef struct spool_frame {
    uint32_t size; /* bytes of the record, which follow */
    uint32_t crc;  /* crc32c of them */
} spool_frame;

typedef struct spool {
    int fd; /* -1: there is no file, as nothing waits */
    bool
        is_unnamed; /* another process has the file of that name: this one goes with the process */
    bool is_new;    /* this process has made it, and not synced its name */
    int64_t head; /* the frames that wait are the bytes [head, end) */
    int64_t end;
    int64_t inherited; /* up to here an earlier process wrote them; 0: nothing */
    int64_t
        damaged; /* bytes behind the last sound frame that were cut off when it was opened */
    char path[SPOOL_PATH];
} spool;

/* Takes up what an earlier process left at `path`.  Errors: E_IO, E_FORMAT the file is something else,
 * E_RANGE the path is too long. */
TUTTI_NODISCARD tutti_status spool_open(spool *s, const char *path, tutti_error *err);
/* Removes the file when nothing waits in it. */
void spool_close(spool *s);

/* Adds whole frames; none of them, when it fails. */
TUTTI_NODISCARD tutti_status spool_add(spool *s, const void *frames, size_t size,
                                       tutti_error *err);
/* Up to `size` bytes from the first frame on.  Fewer than wanted: the file ends, or cannot be read. */
size_t spool_peek(const spool *s, void *to, size_t size);
/* The first `size` bytes have been dealt with. */
void spool_take(spool *s, int64_t size);
TUTTI_NODISCARD tutti_status spool_sync(spool *s, tutti_error *err);
/* The records of an earlier process go to `path`.undone, a line each. */
TUTTI_NODISCARD tutti_status spool_set_aside(spool *s, tutti_error *err);

/* Records in whole frames. */
uint64_t spool_count(const void *frames, size_t size);

#endif
