/* log_file_resume.h - the file of a logger in a run that is resumed: what lies behind the mark is undone. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LOG_FILE_RESUME_H
#define LOG_FILE_RESUME_H

#include "log_file_mark.h"

static inline void log_file_note(const log_file *f, int32_t level, const char *what,
                                 const char *path)
{
    char text[2048];
    (void)snprintf(text, sizeof text, "%s %s %s", f->path, what, path);
    if (f->log)
        f->log->write(f->log->ctx, level, text);
}

/* Appends the bytes [first, end) of the file to `to`. */
static inline int log_file_copy(const log_file *f, int64_t first, int64_t end, FILE *to)
{
    char part[LOG_MARK_BYTES];
    while (first < end) {
        const size_t want =
            end - first < LOG_MARK_BYTES ? (size_t)(end - first) : (size_t)LOG_MARK_BYTES;
        const ssize_t n = log_file_read(f, part, want, first);
        if (n <= 0 || fwrite(part, 1, (size_t)n, to) != (size_t)n)
            return -1;
        first += n;
    }
    return fflush(to);
}

/* Takes out the bytes [first, f->before); this process' lines move up. */
static inline tutti_status log_file_cut(log_file *f, int64_t first, tutti_error *err)
{
    char *own = NULL;
    size_t size = 0;
    tutti_status s = log_file_sync(f, err);
    FILE *memory = s ? NULL : open_memstream(&own, &size);
    if (s)
        return s;
    const int64_t end = ftell(f->out);
    const int copied = memory ? log_file_copy(f, f->begin, end, memory) : -1;
    if (memory)
        (void)fclose(memory);
    if (copied != 0 || ftruncate(fileno(f->out), first) != 0 ||
        fwrite(own, 1, size, f->out) != size)
        s = log_file_fail(f, err);
    free(own);
    f->before = f->begin = first;
    return s ? s : log_file_sync(f, err);
}

/* What earlier processes wrote from `first` on goes to a file of its own. */
static inline tutti_status log_file_undo(log_file *f, int64_t first, tutti_error *err)
{
    char aside[800];
    (void)snprintf(aside, sizeof aside, "%s.undone", f->path);
    FILE *to = fopen(aside, "ae");
    const int copied = to ? log_file_copy(f, first, f->before, to) || fsync(fileno(to)) : -1;
    if (to)
        (void)fclose(to);
    if (copied != 0)
        return log_file_fail(f, err);
    const tutti_status s = log_file_cut(f, first, err);
    if (s)
        return s;
    log_file_note(f, TUTTI_LOG_INFO, "goes on from the checkpoint; what followed is in", aside);
    return TUTTI_OK;
}

/* What earlier processes wrote behind the mark has not happened for this run. */
static inline tutti_status log_file_rewind(log_file *f, tutti_error *err)
{
    log_mark there = {-1, 0};
    if (f->mark.bytes == f->before)
        return TUTTI_OK;
    const bool may = f->mark.bytes >= 0 && f->mark.bytes < f->before;
    const tutti_status s = may ? log_file_mark(f, f->mark.bytes, &there, err) : TUTTI_OK;
    if (s)
        return s;
    if (may && there.hash == f->mark.hash)
        return log_file_undo(f, f->mark.bytes, err);
    log_file_note(f, TUTTI_LOG_WARNING,
                  "is not the log that the checkpoint knows; lines are added to it", "");
    return TUTTI_OK;
}

/* The end of the last whole line that earlier processes wrote. */
static inline int64_t log_file_whole(const log_file *f)
{
    int64_t end = f->before;
    char c = '\n';
    while (end > 0 && pread(fileno(f->out), &c, 1, end - 1) == 1 && c != '\n')
        end--;
    return end;
}

/* The end of the last whole line from `first` on that earlier processes wrote, and before any zero: a loss of
 * power leaves half a line, or a hole. */
static inline int64_t log_file_sound(const log_file *f, int64_t first)
{
    char part[LOG_MARK_BYTES];
    int64_t sound = first;
    while (first < f->before) {
        const ssize_t n = log_file_read(f, part, sizeof part, first);
        for (ssize_t k = 0; k < n && first + k < f->before; k++) {
            if (!part[k])
                return sound;
            sound = part[k] == '\n' ? first + k + 1 : sound;
        }
        if (n <= 0)
            return sound;
        first += n;
    }
    return sound;
}

/* The run was resumed and had nothing left to train: what was written behind its checkpoint has happened, but for
 * what is no line. */
static inline tutti_status log_file_mend(log_file *f, tutti_error *err)
{
    const bool may = f->mark.bytes >= 0 && f->mark.bytes < f->before;
    const int64_t sound = may ? log_file_sound(f, f->mark.bytes) : f->before;
    return sound < f->before ? log_file_undo(f, sound, err) : TUTTI_OK;
}

/* Training, or an evaluation, begins. */
static inline tutti_status log_file_begin(log_file *f, bool training, tutti_error *err)
{
    const bool empties = f->empties, resumed = f->resumed;
    if (!f->out || !f->regular)
        return TUTTI_OK;
    f->empties = f->resumed = false;
    if (training && resumed)
        return log_file_rewind(f, err);
    if (empties)
        return log_file_cut(f, 0, err);
    const int64_t whole = training ? log_file_whole(f) : f->before;
    return whole < f->before ? log_file_undo(f, whole, err) : TUTTI_OK;
}

/* An attempt that left no checkpoint is undone as a whole. */
static inline tutti_status log_file_begin_again(log_file *f)
{
    f->mark = (log_mark){0, tutti_hash("")};
    f->resumed = true;
    return TUTTI_OK;
}

#endif
