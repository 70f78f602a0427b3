/* own_files.c - a line of a file is a path; it is on the disk before the file of that name is made. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/record/own_files.h"

#include "base/folders.h"
#include "base/text.h"
#include "base/whole_io.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NOTES_LIMIT = 1 << 20 };

static bool notes_path(const run_context *run, char path[PATH_MAX])
{
    return snprintf(path, PATH_MAX, "%s/" OWN_FILES_NAME, run->folder) < PATH_MAX;
}

/* What cannot be read is not there: files are then in the way as those of another run are. */
void own_files_begin(own_files *o, const run_context *run, bool follows)
{
    char path[PATH_MAX], part[4096];
    text_buffer b = {0};
    size_t n;
    if (!notes_path(run, path))
        return;
    o->follows = follows;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return;
    while (b.size < NOTES_LIMIT && (n = whole_read(fd, part, sizeof part, WHOLE_IO_HERE)) > 0)
        text_add(&b, "%.*s", (int)n, part);
    (void)close(fd);
    free(o->notes);
    o->notes = b.failed ? NULL : b.data;
    if (b.failed)
        free(b.data);
}

/* Whether `notes` has that line, whole. */
static bool has_line(const char *notes, const char *path)
{
    const size_t n = strlen(path);
    for (const char *at = notes; at && *at; at = strchr(at, '\n'), at += at != NULL)
        if (strncmp(at, path, n) == 0 && at[n] == '\n')
            return true;
    return false;
}

/* What lies below the folder: the rest of the path; else NULL. */
static const char *below(const char *folder, const char *path)
{
    const size_t n = strlen(folder);
    return strncmp(path, folder, n) == 0 && path[n] == '/' ? path + n + 1 : NULL;
}

/* A line of the file.  What lies in the run's folder, or where relative paths count from, goes with it.  False: no room. */
static bool note_of(const run_context *run, const char *path, char note[PATH_MAX])
{
    const char *own = below(run->folder, path);
    const char *near = own ? own : below(run->file->source.folder, path);
    return snprintf(note, PATH_MAX, "%s%s", own ? "./" : "", near ? near : path) < PATH_MAX;
}

bool own_files_have(const own_files *o, const run_context *run, const char *path)
{
    char note[PATH_MAX];
    return o->follows && note_of(run, path, note) && has_line(o->notes, note);
}

/* Whether the file ends amid a line, of a process that had no room. */
static bool is_cut(int fd, off_t size)
{
    char last = '\n';
    return size > 0 && pread(fd, &last, 1, size - 1) == 1 && last != '\n';
}

/* In one write, at the end; where that fails, nothing is left of it. */
static int append(const char *path, const char *note)
{
    char line[PATH_MAX + 2];
    const int fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (fd < 0)
        return errno;
    const off_t size = lseek(fd, 0, SEEK_END);
    (void)snprintf(line, sizeof line, "%s%s\n", is_cut(fd, size) ? "\n" : "", note);
    const size_t n = strlen(line);
    int cause = whole_write(fd, line, n, WHOLE_IO_HERE) == n && fsync(fd) == 0 ? 0 : errno;
    if (cause && size >= 0)
        (void)!ftruncate(fd, size);
    if (close(fd) != 0 && !cause)
        cause = errno;
    return cause;
}

tutti_status own_files_add(const own_files *o, run_context *run, const char *path,
                           tutti_error *err)
{
    char notes[PATH_MAX], note[PATH_MAX], text[640];
    if (!run->stage.fits)
        return TUTTI_OK;
    if (strchr(path, '\n'))
        return tutti_fail(err, TUTTI_E_ARG, "a file of the run has a line break in its path");
    if (!notes_path(run, notes) || !note_of(run, path, note))
        return tutti_fail(err, TUTTI_E_RANGE, "%.80s...: the path is too long", path);
    if (has_line(o->notes, note))
        return TUTTI_OK;
    (void)!folders_make(notes, NULL); /* what is wrong shows when the file is opened */
    const int cause = append(notes, note);
    if (!cause && folders_sync(notes, NULL) == TUTTI_OK)
        return TUTTI_OK;
    (void)snprintf(text, sizeof text,
                   "%.300s: %s; a run that goes on does not know %.160s for its own", notes,
                   strerror(cause ? cause : EIO), path);
    run_log_message(&run->log, TUTTI_LOG_WARNING, "train", text);
    return TUTTI_OK;
}

void own_files_fini(own_files *o)
{
    free(o->notes);
}
