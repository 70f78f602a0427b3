/* folder.c - a file goes to a folder, or comes from there, whole or not at all. */
/* SPDX-License-Identifier: Apache-2.0 */
#define TUTTI_USE_MINOR 1
#include "../../common/whole_io.h"
#include "place.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { STEP = 1 << 20 };

static tutti_status fail_io(const char *path, tutti_error *err)
{
    return tutti_fail(err, TUTTI_E_IO, "remote_uploader: cannot write %s: %s", path,
                      strerror(errno));
}

static void make_folders(char *path)
{
    for (char *c = strchr(path + 1, '/'); c; c = strchr(c + 1, '/')) {
        *c = '\0';
        (void)mkdir(path, 0777); /* what fails is told when the file is opened */
        *c = '/';
    }
}

/* Where bytes come from. */
typedef struct source {
    int fd;
    const char *path;
    uint64_t size;
} source;

static tutti_status copy_bytes(const place *p, const source *f, int to, const char *path,
                               tutti_error *err)
{
    char *step = malloc(STEP);
    tutti_status s =
        step ? TUTTI_OK : tutti_fail(err, TUTTI_E_NOMEM, "remote_uploader: no memory");
    for (uint64_t at = 0; !s && at < f->size;) {
        const size_t n = f->size - at < STEP ? f->size - at : STEP;
        if (p->must_end(p->ctx))
            s = tutti_fail(err, TUTTI_E_INTERRUPTED, "remote_uploader: %s is not whole", path);
        else if (whole_read(f->fd, step, n, (int64_t)at) != n)
            s = tutti_fail(err, TUTTI_E_ARG, "remote_uploader: %s cannot be read, or was cut",
                           f->path);
        else if (whole_write(to, step, n, -1) != n)
            s = fail_io(path, err);
        at += n;
    }
    free(step);
    return !s && fsync(to) != 0 && errno != EINVAL ? fail_io(path, err) : s;
}

/* A link fails where there is a file. */
static tutti_status put_in_place(const job *j, const char *part, const char *path,
                                 tutti_error *err)
{
    if (j->overwrite)
        return rename(part, path) == 0 ? TUTTI_OK : fail_io(path, err);
    const int linked = link(part, path), cause = errno;
    (void)unlink(part);
    errno = cause;
    if (linked == 0)
        return TUTTI_OK;
    return errno == EEXIST
               ? tutti_fail(err, TUTTI_E_EXISTS, "remote_uploader: %s is there already", path)
               : fail_io(path, err);
}

tutti_status folder_put(const place *p, job *j, tutti_error *err)
{
    char path[sizeof p->folder + JOB_NAME], part[sizeof path + 8];
    (void)snprintf(path, sizeof path, "%s/%s", p->folder, j->name);
    (void)snprintf(part, sizeof part, "%s.part", path);
    make_folders(path);
    const int from = open(j->data, O_RDONLY | O_CLOEXEC);
    if (from < 0)
        return tutti_fail(err, TUTTI_E_ARG, "remote_uploader: %s: %s", j->data,
                          strerror(errno));
    const int to = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    tutti_status s = to < 0 ? fail_io(part, err)
                            : copy_bytes(p, &(source){from, j->data, j->size}, to, part, err);
    (void)close(from);
    if (to >= 0 && close(to) != 0 && !s)
        s = fail_io(part, err);
    if (s) {
        (void)unlink(part);
        return s;
    }
    return put_in_place(j, part, path, err);
}

tutti_status folder_get(const place *p, const char *name, const char *target, tutti_error *err)
{
    struct stat st = {0};
    char path[sizeof p->folder + JOB_NAME];
    (void)snprintf(path, sizeof path, "%s/%s", p->folder, name);
    const int from = open(path, O_RDONLY | O_CLOEXEC);
    if (from < 0 || fstat(from, &st) != 0) {
        const tutti_status s = tutti_fail(err, errno == ENOENT ? TUTTI_E_NOTFOUND : TUTTI_E_IO,
                                          "remote_uploader: %s: %s", path, strerror(errno));
        if (from >= 0)
            (void)close(from);
        return s;
    }
    const int to = open(target, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    const source f = {from, path, (uint64_t)st.st_size};
    tutti_status s = to < 0 ? fail_io(target, err) : copy_bytes(p, &f, to, target, err);
    (void)close(from);
    if (to >= 0 && close(to) != 0 && !s)
        s = fail_io(target, err);
    if (s)
        (void)unlink(target);
    return s;
}

tutti_status folder_list(const place *p, const tutti_listing *what, tutti_error *err)
{
    char path[sizeof p->folder + JOB_NAME], name[JOB_NAME];
    const char *slash = strrchr(what->prefix, '/');
    const int head = slash ? (int)(slash - what->prefix) + 1 : 0;
    (void)snprintf(path, sizeof path, "%s/%.*s", p->folder, head, what->prefix);
    DIR *dir = opendir(path);
    if (!dir && errno != ENOENT)
        return tutti_fail(err, TUTTI_E_IO, "remote_uploader: %s: %s", path, strerror(errno));
    tutti_status s = TUTTI_OK;
    for (struct dirent *e = dir ? readdir(dir) : NULL; e && !s; e = readdir(dir)) {
        if (p->must_end(p->ctx)) {
            s = tutti_fail(err, TUTTI_E_INTERRUPTED, "remote_uploader: %s: not read to its end",
                           path);
            continue;
        }
        (void)snprintf(name, sizeof name, "%.*s%s", head, what->prefix, e->d_name);
        if (e->d_type != DT_DIR && strncmp(name, what->prefix, strlen(what->prefix)) == 0)
            s = what->each(what->asker, name, err);
    }
    if (dir)
        (void)closedir(dir);
    return TUTTI_OK;
}
