/* output_file.c - where a path leads, a part beside a regular file, and what is written as it is. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_LINKS = 40 }; /* as the kernel follows */

static tutti_status failed(const char *path, int why, tutti_error *err)
{
    errno = why;
    return tutti_fail(err, why == ENOMEM ? TUTTI_E_NOMEM : TUTTI_E_IO, "%s: %s", path,
                      strerror(why));
}

/* The number of the descriptor that `path` is a name of, or -1. */
static int descriptor_of(const char *path)
{
    static const char *const folders[] = {"/dev/fd/", "/proc/self/fd/"};
    if (strcmp(path, "/dev/stdout") == 0)
        return STDOUT_FILENO;
    if (strcmp(path, "/dev/stderr") == 0)
        return STDERR_FILENO;
    for (size_t k = 0; k < sizeof folders / sizeof *folders; k++) {
        const size_t n = strlen(folders[k]);
        char *end;
        if (strncmp(path, folders[k], n) != 0 || path[n] < '0' || path[n] > '9')
            continue;
        const long number = strtol(path + n, &end, 10);
        return *end == '\0' && number <= INT_MAX ? (int)number : -1;
    }
    return -1;
}

/* ---- where a path leads ---- */

/* What the link `path` says, counted from its folder; NULL with errno. */
static char *read_link(const char *path)
{
    char to[PATH_MAX];
    const ssize_t n = readlink(path, to, sizeof to - 1);
    const char *slash = strrchr(path, '/');
    if (n < 0)
        return NULL;
    to[n] = '\0';
    const size_t folder = *to == '/' || !slash ? 0 : (size_t)(slash - path) + 1;
    char *joined = malloc(folder + (size_t)n + 1);
    if (!joined)
        return NULL;
    memcpy(joined, path, folder);
    memcpy(joined + folder, to, (size_t)n + 1);
    return joined;
}

tutti_status output_file_target(const char *path, char **ret_target, tutti_error *err)
{
    struct stat st;
    char *at = strdup(path);
    for (int links = 0;
         at && descriptor_of(at) < 0 && lstat(at, &st) == 0 && S_ISLNK(st.st_mode); links++) {
        char *next = links < MOST_LINKS ? read_link(at) : NULL;
        const int why = links < MOST_LINKS ? errno : ELOOP;
        free(at);
        if (!next)
            return failed(path, why, err);
        at = next;
    }
    if (!at)
        return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory for a path", path);
    *ret_target = at;
    return TUTTI_OK;
}

/* Of a path whose links have been followed. */
static bool is_stream(const char *target)
{
    struct stat st;
    return descriptor_of(target) >= 0 || (stat(target, &st) == 0 && !S_ISREG(st.st_mode));
}

static bool is_folder(const char *target)
{
    struct stat st;
    return stat(target, &st) == 0 && S_ISDIR(st.st_mode);
}

bool output_file_is_stream(const char *path)
{
    char *target;
    if (output_file_target(path, &target, NULL))
        return false;
    const bool stream = is_stream(target);
    free(target);
    return stream;
}

bool output_file_is_stdout(const char *path)
{
    struct stat here, out;
    return stat(path, &here) == 0 && fstat(STDOUT_FILENO, &out) == 0 &&
           here.st_dev == out.st_dev && here.st_ino == out.st_ino;
}

/* ---- the file ---- */

static void free_names(output_file *f)
{
    free(f->target);
    free(f->part);
    *f = (output_file){.file = NULL};
}

/* As a shell does: the descriptor itself, or what the path names. */
static tutti_status open_stream(output_file *f, tutti_error *err)
{
    const int number = descriptor_of(f->target);
    const int fd = number >= 0 ? fcntl(number, F_DUPFD_CLOEXEC, 0)
                               : open(f->target, O_WRONLY | O_NOCTTY | O_CLOEXEC);
    f->file = fd < 0 ? NULL : fdopen(fd, "wb");
    const int why = errno;
    if (f->file)
        return TUTTI_OK;
    if (fd >= 0)
        (void)close(fd);
    return failed(f->target, why, err);
}

/* A part that is there from before is a regular file; nobody waits for the reader of a pipe of that name. */
static tutti_status open_part(output_file *f, tutti_error *err)
{
    struct stat st;
    const size_t size = strlen(f->target) + sizeof ".part";
    if (!(f->part = malloc(size)))
        return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory for a path", f->target);
    (void)snprintf(f->part, size, "%s.part", f->target);
    if (lstat(f->part, &st) == 0 && !S_ISREG(st.st_mode))
        return tutti_fail(err, TUTTI_E_IO,
                          "%s: is no regular file, and is to be written before %s", f->part,
                          f->target);
    f->file = fopen(f->part, "wbe");
    return f->file ? TUTTI_OK : failed(f->part, errno, err);
}

tutti_status output_file_open(const char *path, const char *why_regular, output_file *ret,
                              tutti_error *err)
{
    output_file f = {.file = NULL};
    tutti_status s = output_file_target(path, &f.target, err);
    if (s)
        return s;
    const bool stream = is_stream(f.target);
    if (is_folder(f.target))
        s = failed(path, EISDIR, err);
    else if (stream && why_regular)
        s = tutti_fail(err, TUTTI_E_UNSUPPORTED, "%s: is no regular file; %s", path,
                       why_regular);
    else
        s = stream ? open_stream(&f, err) : open_part(&f, err);
    if (s)
        free_names(&f);
    else
        *ret = f;
    return s;
}

tutti_status output_file_close(output_file *f, bool keep, tutti_error *err)
{
    tutti_status s = TUTTI_OK;
    bool bad = ferror(f->file);
    int why = bad ? errno : 0; /* of a write before, where nothing has failed since */
    if (fflush(f->file) != 0) {
        bad = true;
        why = errno;
    }
    if (fclose(f->file) != 0 && !bad) {
        bad = true;
        why = errno;
    }
    if (bad && keep)
        s = failed(f->target, why ? why : EIO, err);
    if (f->part && keep && !s && rename(f->part, f->target) != 0)
        s = failed(f->target, errno, err);
    if (f->part && (!keep || s))
        (void)unlink(f->part);
    free_names(f);
    return s;
}
