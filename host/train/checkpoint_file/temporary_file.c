/* temporary_file.c - the file that a save writes before it is renamed, and those that killed saves left behind. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/checkpoint_file/temporary_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define TAIL ".tmp-tutti-" /* of files that nobody names so by hand */
enum { TAIL_LETTERS = 6, ATTEMPTS = 8 };

/* Removes the file unless a process is writing it. */
static void remove_unlocked(int folder, const char *name)
{
    struct stat st;
    const int fd = openat(folder, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && flock(fd, LOCK_EX | LOCK_NB) == 0)
        (void)unlinkat(folder, name, 0);
    (void)close(fd);
}

/* Removes what killed processes left of `path`.  What cannot be listed or removed stays: the save is what counts. */
static void remove_leftovers(const char *path, char *folder, size_t capacity)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const size_t size = strlen(name);
    (void)snprintf(folder, capacity, "%.*s", slash ? (int)(slash - path + 1) : 1,
                   slash ? path : ".");
    DIR *dir = opendir(folder);
    for (struct dirent *e = dir ? readdir(dir) : NULL; e; e = readdir(dir))
        if (strncmp(e->d_name, name, size) == 0 &&
            strncmp(e->d_name + size, TAIL, sizeof TAIL - 1) == 0 &&
            strlen(e->d_name + size) == sizeof TAIL - 1 + TAIL_LETTERS)
            remove_unlocked(dirfd(dir), e->d_name);
    if (dir)
        (void)closedir(dir);
}

/* Locks a file that was just made; false: another process took it for a leftover before. */
static bool lock_new(int fd)
{
    struct stat st;
    int locked;
    do
        locked = flock(fd, LOCK_EX | LOCK_NB);
    while (locked != 0 && errno == EINTR);
    if (locked != 0 && errno == EWOULDBLOCK)
        return false;
    return fstat(fd, &st) != 0 || st.st_nlink > 0;
}

tutti_status temporary_file_open(const char *path, char *ret_name, size_t size, int *ret_fd,
                                 tutti_error *err)
{
    if (strlen(path) + sizeof TAIL + TAIL_LETTERS > size)
        return tutti_fail(err, TUTTI_E_RANGE, "%.80s...: the path is too long", path);
    remove_leftovers(path, ret_name, size);
    for (int k = 0; k < ATTEMPTS; k++) {
        (void)snprintf(ret_name, size, "%s" TAIL "XXXXXX", path);
        const int fd = mkostemp(ret_name, O_CLOEXEC);
        if (fd < 0)
            return tutti_fail(err, TUTTI_E_IO, "%s: cannot make a temporary file beside it: %s",
                              path, strerror(errno));
        (void)fchmod(fd, 0644);
        if (lock_new(fd)) {
            *ret_fd = fd;
            return TUTTI_OK;
        }
        (void)close(fd);
        (void)unlink(ret_name);
    }
    return tutti_fail(err, TUTTI_E_IO,
                      "%s: other processes remove each temporary file beside it", path);
}
