/* log_file_mark.h - a place in the file of a logger, which checkpoints keep and by which the file is known again. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LOG_FILE_MARK_H
#define LOG_FILE_MARK_H

#include "log_file_open.h"

/* Up to `size` bytes from `at`, however often it is interrupted; -1 with errno. */
static inline ssize_t log_file_read(const log_file *f, char *to, size_t size, int64_t at)
{
    size_t have = 0;
    for (int interrupted = 0; have < size;) {
        const ssize_t n = pread(fileno(f->out), to + have, size - have, at + (int64_t)have);
        if (n < 0 && errno == EINTR && ++interrupted < 1000)
            continue;
        if (n < 0)
            return -1;
        if (n == 0)
            break;
        have += (size_t)n;
    }
    return (ssize_t)have;
}

/* Where `bytes` is, by what comes before it. */
static inline tutti_status log_file_mark(log_file *f, int64_t bytes, log_mark *ret,
                                         tutti_error *err)
{
    char text[LOG_MARK_BYTES + 1];
    const int64_t first = bytes > LOG_MARK_BYTES ? bytes - LOG_MARK_BYTES : 0;
    const ssize_t n = log_file_read(f, text, (size_t)(bytes - first), first);
    if (n != bytes - first)
        return log_file_fail(f, err);
    text[n] = '\0';
    *ret = (log_mark){bytes, tutti_hash(text)};
    return TUTTI_OK;
}

static inline tutti_status log_file_items(log_file *f, tutti_state_item *items,
                                          uint32_t capacity, uint32_t *ret_count,
                                          tutti_error *err)
{
    *ret_count = 1;
    if (capacity < 1)
        return TUTTI_OK;
    /* A log that cannot be written says so once, and keeps no checkpoint from being written. */
    tutti_error told = TUTTI_ERROR_INIT;
    tutti_status s = log_file_sync(f, &told);
    if (!s && f->out && f->regular)
        s = log_file_mark(f, ftell(f->out), &f->mark, &told);
    if (s && f->log)
        f->log->write(f->log->ctx, TUTTI_LOG_WARNING, told.text);
    f->asked = f->mark;
    memset(items, 0, sizeof *items);
    (void)snprintf(items->name, sizeof items->name, "mark");
    items->tensor.data = &f->mark;
    items->tensor.desc = (tutti_desc){{2}, 1, TUTTI_I64};
    items->tensor.device = TUTTI_DEVICE_CPU;
    (void)err;
    return TUTTI_OK;
}

/* The host has put the mark back, if the checkpoint has one. */
static inline tutti_status log_file_restored(log_file *f)
{
    f->resumed = f->mark.bytes != f->asked.bytes || f->mark.hash != f->asked.hash;
    return TUTTI_OK;
}

#endif
