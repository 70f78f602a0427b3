/* log_file.h - the file behind a logger: opened at init, on the disk before a checkpoint, taken up again at
 * its place by a run that is resumed, quiet once broken. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LOG_FILE_H
#define LOG_FILE_H

#include "../common/synced_name.h"
#include "logger.h"
#include "tutti/checkpoint.h"
#include "tutti/files.h"
#include "tutti/log.h"
#include "tutti/rng.h"
#include "tutti/stateful.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LOG_MARK_BYTES = 4096 }; /* before a place by which it is known again */

/* A place in the file. */
typedef struct log_mark {
    int64_t bytes;
    uint64_t hash; /* of the last LOG_MARK_BYTES before it */
} log_mark;

typedef struct log_file {
    const char *who; /* the logger */
    const tutti_checkpoint_v1 *checkpoint;
    const tutti_log_v1 *log; /* may be NULL */
    int64_t before;          /* bytes that earlier processes wrote */
    int64_t begin;  /* where this process' lines begin; more than `before` after half a line */
    log_mark mark;  /* in checkpoints: where it ended at the save */
    log_mark asked; /* what was handed out as `mark` last */
    bool regular;   /* no pipe or device, which have no places */
    bool resumed;   /* the mark is a checkpoint's: what follows it up to `before` was undone */
    bool empties;   /* what earlier processes wrote goes when work begins */
    FILE *out;      /* NULL before init, and once writing failed */
    int64_t flush_interval;
    bool overwrite;
    bool log_traces;
    const tutti_files_v1 *files; /* may be NULL */
    const char *remote_name;     /* where whole lines go after each sync; NULL: nowhere */
    char path[768];
} log_file;

static inline tutti_status log_file_fail(log_file *f, tutti_error *err)
{
    const int cause = errno;
    if (f->out)
        (void)fclose(f->out);
    f->out = NULL;
    return tutti_fail(err, TUTTI_E_IO, "%s: cannot write %s: %s; nothing more is logged there",
                      f->who, f->path, strerror(cause));
}

/* The name with {run_name} replaced; false: there is no room. */
static inline bool log_file_name(const log_file *f, const char *name, char *to, size_t room)
{
    static const char variable[] = "{run_name}";
    const char *at = strstr(name, variable);
    const int n =
        at ? snprintf(to, room, "%.*s%s%s", (int)(at - name), name,
                      f->checkpoint->run_name(f->checkpoint->ctx), at + sizeof variable - 1)
           : snprintf(to, room, "%s", name);
    return n >= 0 && (size_t)n < room;
}

/* Of the setting; `name` in the run's folder where it is not set. */
static inline tutti_status log_file_path(log_file *f, const char *setting, const char *name,
                                         tutti_error *err)
{
    const int n = setting ? 0
                          : snprintf(f->path, sizeof f->path, "%s/%s",
                                     f->checkpoint->run_folder(f->checkpoint->ctx), name);
    const bool fits = setting ? log_file_name(f, setting, f->path, sizeof f->path)
                              : n >= 0 && (size_t)n < sizeof f->path;
    return fits ? TUTTI_OK
                : tutti_fail(err, TUTTI_E_RANGE, "%s: filename is longer than %zu characters",
                             f->who, sizeof f->path - 1);
}

static inline tutti_status log_file_init(log_file *f, const char *who, const char *name,
                                         const tutti_host *host, const tutti_params *params,
                                         tutti_error *err)
{
    f->who = who;
    f->checkpoint =
        (const tutti_checkpoint_v1 *)logger_service(host, who, TUTTI_CHECKPOINT_V1, err);
    if (!f->checkpoint)
        return TUTTI_E_UNSUPPORTED;
    f->log = (const tutti_log_v1 *)host->query(host->ctx, TUTTI_LOG_V1);
    f->files = (const tutti_files_v1 *)host->query(host->ctx, TUTTI_FILES_V1);
    f->remote_name = tutti_param_str(params, "remote_file_name");
    f->flush_interval = tutti_param_i64(params, "flush_interval");
    f->overwrite = tutti_param_i64(params, "overwrite") != 0;
    f->log_traces = tutti_param_i64(params, "log_traces") != 0;
    return log_file_path(f, tutti_param_str(params, "filename"), name, err);
}

/* Makes the folders on the way and opens the file. */
static inline tutti_status log_file_open(log_file *f, tutti_error *err)
{
    for (char *p = strchr(f->path + 1, '/'); p; p = strchr(p + 1, '/')) {
        *p = '\0';
        (void)mkdir(f->path, 0777); /* what is wrong shows when the file is opened */
        *p = '/';
    }
    struct stat st;
    const bool is_new = stat(f->path, &st) != 0;
    f->regular = is_new || S_ISREG(st.st_mode);
    f->empties = f->overwrite && f->regular;
    f->out = fopen(f->path, f->regular ? "a+e" : "ae");
    if (!f->out || (f->regular && fseek(f->out, 0, SEEK_END) != 0))
        return log_file_fail(f, err);
    if (is_new)
        synced_name(f->path);
    f->before = f->begin = f->regular ? ftell(f->out) : 0;
    char last = '\n';
    if (f->before > 0 && pread(fileno(f->out), &last, 1, f->before - 1) == 1 && last != '\n') {
        (void)fputc('\n', f->out); /* behind a line that a killed process did not end */
        f->begin++;
    }
    return TUTTI_OK;
}

/* After writing: an error that stdio has met.  TUTTI_OK also for a file that broke before. */
static inline tutti_status log_file_check(log_file *f, tutti_error *err)
{
    return f->out && ferror(f->out) ? log_file_fail(f, err) : TUTTI_OK;
}

static inline tutti_status log_file_sync(log_file *f, tutti_error *err)
{
    if (f->out && (fflush(f->out) != 0 || (fsync(fileno(f->out)) != 0 && errno != EINVAL)))
        return log_file_fail(f, err);
    return TUTTI_OK;
}

/* ---- checkpoints ---- */

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

/* The host has put the mark back, if the checkpoint has one. */
static inline tutti_status log_file_restored(log_file *f)
{
    f->resumed = f->mark.bytes != f->asked.bytes || f->mark.hash != f->asked.hash;
    return TUTTI_OK;
}

/* An attempt that left no checkpoint is undone as a whole. */
static inline tutti_status log_file_begin_again(log_file *f)
{
    f->mark = (log_mark){0, tutti_hash("")};
    f->resumed = true;
    return TUTTI_OK;
}

/* Also of a file that broke: it has what was logged before. */
static inline const char *log_file_location(const log_file *f)
{
    return f->path;
}

/* What is on the disk goes elsewhere too.  What keeps it here is told, once, and ends nothing. */
static inline void log_file_send(log_file *f)
{
    char name[768];
    tutti_error why = TUTTI_ERROR_INIT;
    if (!f->remote_name || !f->out || !f->regular)
        return;
    const tutti_upload what = {
        .struct_size = sizeof what, .overwrite = 1, .remote_name = name, .path = f->path};
    const tutti_status s =
        !f->files ? tutti_fail(&why, TUTTI_E_UNSUPPORTED, "%s is not sent: this host has no %s",
                               f->path, TUTTI_FILES_V1)
        : log_file_name(f, f->remote_name, name, sizeof name)
            ? f->files->upload(f->files->ctx, &what, &why)
            : tutti_fail(&why, TUTTI_E_RANGE, "%s: remote_file_name is too long", f->who);
    if (s && f->log)
        f->log->write(f->log->ctx, TUTTI_LOG_WARNING, why.text);
    if (s && s != TUTTI_E_STATE) /* too many files wait now */
        f->remote_name = NULL;
}

static inline tutti_status log_file_event(log_file *f, const tutti_event *event,
                                          tutti_error *err)
{
    if (event->id == TUTTI_EVENT_INIT)
        return log_file_open(f, err);
    if (event->id == TUTTI_EVENT_FIT_START || event->id == TUTTI_EVENT_EVAL_START) {
        const tutti_status s = log_file_begin(f, event->id == TUTTI_EVENT_FIT_START, err);
        if (s)
            return s;
    }
    if (event->id == TUTTI_EVENT_BATCH_END && event->time->batch % f->flush_interval != 0)
        return TUTTI_OK;
    const tutti_status s = log_file_sync(f, err);
    if (!s && event->id != TUTTI_EVENT_FIT_START && event->id != TUTTI_EVENT_EVAL_START &&
        event->id != TUTTI_EVENT_EPOCH_START)
        log_file_send(f);
    return s;
}

static inline tutti_status log_file_close(log_file *f, tutti_error *err)
{
    tutti_status s = f->out && f->regular && f->resumed ? log_file_mend(f, err) : TUTTI_OK;
    if (!s)
        s = log_file_sync(f, err);
    if (f->out)
        (void)fclose(f->out);
    f->out = NULL;
    return s;
}

#endif
