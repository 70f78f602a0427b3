/* log_file_open.h - the file of a logger: its name, opened at init, brought to the disk. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LOG_FILE_OPEN_H
#define LOG_FILE_OPEN_H

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

#endif
