/* folder.c - a file goes to a folder, whole or not at all. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "place.h"

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

static tutti_status copy_bytes(const place *p, const job *j, int from, int to, const char *path,
                               tutti_error *err)
{
    char *step = malloc(STEP);
    tutti_status s =
        step ? TUTTI_OK : tutti_fail(err, TUTTI_E_NOMEM, "remote_uploader: no memory");
    for (uint64_t at = 0; !s && at < j->size;) {
        const ssize_t n =
            pread(from, step, j->size - at < STEP ? j->size - at : STEP, (off_t)at);
        if (p->must_end(p->ctx))
            s = tutti_fail(err, TUTTI_E_INTERRUPTED, "remote_uploader: %s is not whole", path);
        else if (n <= 0)
            s = tutti_fail(err, TUTTI_E_ARG, "remote_uploader: %s cannot be read, or was cut",
                           j->data);
        else if (write(to, step, (size_t)n) != n)
            s = fail_io(path, err);
        at += n > 0 ? (uint64_t)n : 0;
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
    tutti_status s = to < 0 ? fail_io(part, err) : copy_bytes(p, j, from, to, part, err);
    (void)close(from);
    if (to >= 0 && close(to) != 0 && !s)
        s = fail_io(part, err);
    if (s) {
        (void)unlink(part);
        return s;
    }
    return put_in_place(j, part, path, err);
}
