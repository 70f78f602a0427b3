/* store_file.c - a file replaces another by rename; what is added goes by one write, or is cut off again. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "store_file.h"
#include "../../common/whole_io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LONGEST_NAME = 250 };

void store_path(char to[STORE_PATH], const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)vsnprintf(to, STORE_PATH, format, args);
    va_end(args);
}

bool store_is_path(const char *name)
{
    for (const char *at = name;; at++) {
        const size_t n = strcspn(at, "/");
        if (n == 0 || (n == 1 && at[0] == '.') || (n == 2 && strncmp(at, "..", 2) == 0))
            return false;
        at += n;
        if (!*at)
            return true;
    }
}

bool store_is_name(const char *name)
{
    static const char good[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                               "_-.:/ ";
    const size_t n = strspn(name, good);
    return !name[n] && n <= LONGEST_NAME && store_is_path(name);
}

static tutti_status cannot_write(const char *path, int cause, tutti_error *err)
{
    const bool never = cause == ENOTDIR || cause == EISDIR || cause == ENAMETOOLONG;
    return tutti_fail(err, never ? TUTTI_E_ARG : TUTTI_E_IO, "mlflow: cannot write %s: %s",
                      path, strerror(cause));
}

tutti_status store_make_folder(const char *path, tutti_error *err)
{
    char part[STORE_PATH];
    struct stat st;
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return TUTTI_OK;
    const int n = snprintf(part, sizeof part, "%s", path);
    if (n < 0 || (size_t)n >= sizeof part)
        return cannot_write(path, ENAMETOOLONG, err);
    for (char *at = strchr(part + 1, '/'); at; at = strchr(at + 1, '/')) {
        *at = '\0';
        (void)mkdir(part, 0777); /* what is wrong shows with the last one */
        *at = '/';
    }
    if (mkdir(part, 0777) == 0)
        return TUTTI_OK;
    if (errno == EEXIST && stat(part, &st) == 0)
        return S_ISDIR(st.st_mode) ? TUTTI_OK : cannot_write(path, ENOTDIR, err);
    return cannot_write(path, errno, err);
}

/* The folders on the way to a file. */
static tutti_status make_way(const char *path, tutti_error *err)
{
    char folder[STORE_PATH];
    const char *slash = strrchr(path, '/');
    const int n = snprintf(folder, sizeof folder, "%.*s", (int)(slash - path), path);
    return n < 0 || (size_t)n >= sizeof folder ? cannot_write(path, ENAMETOOLONG, err)
                                               : store_make_folder(folder, err);
}

/* 0, or what went wrong. */
static int put_bytes(int fd, const char *data, size_t size)
{
    return whole_write(fd, data, size, -1) == size ? 0 : errno;
}

tutti_status store_write(const char *path, const char *data, size_t size, tutti_error *err)
{
    char next[STORE_PATH + 8];
    struct stat st;
    const tutti_status s = make_way(path, err);
    if (s)
        return s;
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return cannot_write(path, EISDIR, err);
    (void)snprintf(next, sizeof next, "%s.tmp", path);
    const int fd = open(next, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0)
        return cannot_write(path, errno, err);
    int cause = put_bytes(fd, data, size);
    if (close(fd) != 0 && !cause)
        cause = errno;
    if (!cause && rename(next, path) != 0)
        cause = errno;
    if (!cause)
        return TUTTI_OK;
    (void)unlink(next);
    return cannot_write(path, cause, err);
}

tutti_status store_append(const char *path, const char *data, size_t size, tutti_error *err)
{
    const tutti_status s = make_way(path, err);
    if (s)
        return s;
    const int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (fd < 0)
        return cannot_write(path, errno, err);
    const off_t before = lseek(fd, 0, SEEK_END);
    int cause = put_bytes(fd, data, size);
    if (cause && before >= 0 && ftruncate(fd, before) != 0)
        cause = errno;
    if (close(fd) != 0 && !cause)
        cause = errno;
    return cause ? cannot_write(path, cause, err) : TUTTI_OK;
}

char *store_read(const char *path)
{
    char *text = NULL, part[4096];
    size_t size = 0, n;
    FILE *in = fopen(path, "re"), *out = in ? open_memstream(&text, &size) : NULL;
    while (out && (n = fread(part, 1, sizeof part, in)) > 0)
        (void)fwrite(part, 1, n, out);
    const bool whole = out && !ferror(in);
    if (out && (fclose(out) != 0 || !whole)) {
        free(text);
        text = NULL;
    }
    if (in)
        (void)fclose(in);
    return text;
}

bool store_is_there(const char *path)
{
    return access(path, F_OK) == 0;
}
