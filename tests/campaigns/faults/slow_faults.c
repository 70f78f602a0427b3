/* slow_faults.c - a library to preload that makes a slow disk: calls that write files with TUTTI_SLOW_NAME in their
 * path take up to TUTTI_SLOW microseconds more, so that kills fall between them. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
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
