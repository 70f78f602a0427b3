/* slow_faults.c - a library to preload that makes a slow disk: calls that write files with TUTTI_SLOW_NAME in their
 * path take up to TUTTI_SLOW microseconds more, so that kills fall between them. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

/* Some of the most that it may take, other in every process and call. */
static void dawdle(const char *path)
{
    const char *name = getenv("TUTTI_SLOW_NAME"), *most = getenv("TUTTI_SLOW");
    struct timespec now;
    if (!name || !most || !strstr(path, name))
        return;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    const uint64_t mixed = (uint64_t)now.tv_nsec * UINT64_C(0x9e3779b97f4a7c15);
    (void)usleep((useconds_t)((mixed >> 40) % (uint64_t)(atol(most) + 1)));
}

static void dawdle_fd(int fd)
{
    char link[64], path[PATH_MAX];
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    const ssize_t n = readlink(link, path, sizeof path - 1);
    path[n > 0 ? n : 0] = '\0';
    dawdle(path);
}

ssize_t write(int fd, const void *data, size_t size)
{
    dawdle_fd(fd);
    return (ssize_t)syscall(SYS_write, fd, data, size);
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t offset)
{
    dawdle_fd(fd);
    return (ssize_t)syscall(SYS_pwrite64, fd, data, size, offset);
}

ssize_t writev(int fd, const struct iovec *parts, int count)
{
    dawdle_fd(fd);
    return (ssize_t)syscall(SYS_writev, fd, parts, count);
}

ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t offset)
{
    dawdle_fd(fd);
    return (ssize_t)syscall(SYS_pwritev, fd, parts, count, offset, 0L);
}

int ftruncate(int fd, off_t size)
{
    dawdle_fd(fd);
    return (int)syscall(SYS_ftruncate, fd, size);
}

/* Opening alone is no write: only where it makes the file. */
static int open_at(int folder, const char *path, int flags, va_list args)
{
    const bool makes = flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE;
    const int mode = makes ? va_arg(args, int) : 0;
    if (makes)
        dawdle(path);
    return (int)syscall(SYS_openat, folder, path, flags, mode);
}

int open(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    const int fd = open_at(AT_FDCWD, path, flags, args);
    va_end(args);
    return fd;
}

int openat(int folder, const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    const int fd = open_at(folder, path, flags, args);
    va_end(args);
    return fd;
}

int fsync(int fd)
{
    dawdle_fd(fd);
    return (int)syscall(SYS_fsync, fd);
}

int rename(const char *from, const char *to)
{
    int (*next)(const char *, const char *);
    *(void **)&next = dlsym(RTLD_NEXT, "rename");
    dawdle(to);
    return next(from, to);
}

int link(const char *from, const char *to)
{
    dawdle(to);
    return (int)syscall(SYS_link, from, to);
}

int symlink(const char *to, const char *path)
{
    int (*next)(const char *, const char *);
    *(void **)&next = dlsym(RTLD_NEXT, "symlink");
    dawdle(path);
    return next(to, path);
}

int unlink(const char *path)
{
    int (*next)(const char *);
    *(void **)&next = dlsym(RTLD_NEXT, "unlink");
    dawdle(path);
    return next(path);
}
