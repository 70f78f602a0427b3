/* log_file.h - the file behind a logger: opened at init, flushed now and then, quiet once broken. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LOG_FILE_H
#define LOG_FILE_H

#include "logger.h"
#include "tutti/checkpoint.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct log_file {
    const char *who; /* the logger */
    const tutti_checkpoint_v1 *checkpoint;
    FILE *out; /* NULL before init, and once writing failed */
    int64_t flush_interval;
    bool overwrite;
    bool log_traces;
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

/* The path with {run_name} replaced; `name` in the run's folder where the setting is not set. */
static inline tutti_status log_file_path(log_file *f, const char *setting, const char *name,
                                         tutti_error *err)
{
    static const char variable[] = "{run_name}";
    const char *at = setting ? strstr(setting, variable) : NULL;
    int n;
    if (!setting)
        n = snprintf(f->path, sizeof f->path, "%s/%s",
                     f->checkpoint->run_folder(f->checkpoint->ctx), name);
    else if (at)
        n = snprintf(f->path, sizeof f->path, "%.*s%s%s", (int)(at - setting), setting,
                     f->checkpoint->run_name(f->checkpoint->ctx), at + sizeof variable - 1);
    else
        n = snprintf(f->path, sizeof f->path, "%s", setting);
    if (n < 0 || (size_t)n >= sizeof f->path)
        return tutti_fail(err, TUTTI_E_RANGE, "%s: filename is longer than %zu characters",
                          f->who, sizeof f->path - 1);
    return TUTTI_OK;
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
    f->out = fopen(f->path, f->overwrite ? "we" : "ae");
    return f->out ? TUTTI_OK : log_file_fail(f, err);
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

static inline tutti_status log_file_event(log_file *f, const tutti_event *event,
                                          tutti_error *err)
{
    if (event->id == TUTTI_EVENT_INIT)
        return log_file_open(f, err);
    if (event->id == TUTTI_EVENT_BATCH_END && event->time->batch % f->flush_interval != 0)
        return TUTTI_OK;
    return log_file_sync(f, err);
}

static inline tutti_status log_file_close(log_file *f, tutti_error *err)
{
    const tutti_status s = log_file_sync(f, err);
    if (f->out)
        (void)fclose(f->out);
    f->out = NULL;
    return s;
}

#endif
