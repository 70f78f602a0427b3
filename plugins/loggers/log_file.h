/* log_file.h - the file behind a logger: opened at init, on the disk before a checkpoint, taken up again at
 * its place by a run that is resumed, quiet once broken. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LOG_FILE_H
#define LOG_FILE_H

#include "log_file_mark.h"
#include "log_file_open.h"
#include "log_file_resume.h"

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
