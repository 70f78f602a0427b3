/* folder_lock.c - a folder that one process at a time writes to. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/folder_lock.h"
#include "base/folders.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

struct folder_lock {
    folder_lock *next;
    dev_t device;
    ino_t inode;
    int fd;
};

/* "process 4711 on deep-thought", as whoever has it wrote. */
static tutti_status taken(int fd, const char *folder, tutti_error *err)
{
    char who[200];
    const ssize_t n = pread(fd, who, sizeof who - 1, 0);
    who[n > 0 ? n : 0] = '\0';
    who[strcspn(who, "\n")] = '\0';
    return tutti_fail(
        err, TUTTI_E_STATE,
        "%s: is in use by %s; wait for its end, or give this run a folder of its own", folder,
        *who ? who : "another process");
}

static tutti_status note_owner(int fd, const char *folder, tutti_error *err)
{
    char host[HOST_NAME_MAX + 1] = "?", text[HOST_NAME_MAX + 64];
    (void)gethostname(host, sizeof host - 1);
    const int n = snprintf(text, sizeof text, "process %ld on %s\n", (long)getpid(), host);
    if (ftruncate(fd, 0) != 0 || pwrite(fd, text, (size_t)n, 0) != n)
        return tutti_fail(err, TUTTI_E_IO, "%s: cannot write its .lock: %s", folder,
                          strerror(errno));
    return TUTTI_OK;
}

/* *ret_held: `fd` is the file of one of these. */
static tutti_status take(const folder_lock *locks, int fd, const char *folder,
                         struct stat *ret_st, int *ret_held, tutti_error *err)
{
    if (fstat(fd, ret_st) != 0)
        return tutti_fail(err, TUTTI_E_IO, "%s: %s", folder, strerror(errno));
    for (*ret_held = 0; locks && !*ret_held; locks = locks->next)
        *ret_held = locks->device == ret_st->st_dev && locks->inode == ret_st->st_ino;
    if (*ret_held)
        return TUTTI_OK;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0)
        return note_owner(fd, folder, err);
    if (errno == EWOULDBLOCK)
        return taken(fd, folder, err);
    return tutti_fail(
        err, TUTTI_E_UNSUPPORTED,
        "%s: cannot be locked (%s); another run could mix its files with this one's", folder,
        strerror(errno));
}

tutti_status folder_lock_take(folder_lock **locks, const char *folder, tutti_error *err)
{
    char path[PATH_MAX];
    struct stat st;
    int held = 0;
    if (snprintf(path, sizeof path, "%s/.lock", folder) >= (int)sizeof path)
        return tutti_fail(err, TUTTI_E_RANGE, "%.80s...: the path is too long", folder);
    (void)!folders_make(path, NULL); /* what is wrong shows when the file is opened */
    const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0 && (errno == EACCES || errno == EROFS || errno == EPERM))
        return TUTTI_OK;
    if (fd < 0)
        return tutti_fail(err, TUTTI_E_IO, "%s: %s", path, strerror(errno));
    tutti_status s = take(*locks, fd, folder, &st, &held, err);
    folder_lock *lock = s || held ? NULL : malloc(sizeof *lock);
    if (!s && !held && !lock)
        s = tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory for its lock", folder);
    if (!lock) {
        (void)close(fd);
        return s;
    }
    *lock = (folder_lock){*locks, st.st_dev, st.st_ino, fd};
    *locks = lock;
    return TUTTI_OK;
}

void folder_lock_release(folder_lock *locks)
{
    while (locks) {
        folder_lock *next = locks->next;
        (void)close(locks->fd);
        free(locks);
        locks = next;
    }
}
