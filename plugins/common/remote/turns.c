/* turns.c - of the processes that want the same file one fetches it, while the others wait. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "remote_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { STEP_MS = 20 };

/* What whoever fetches has got so far. */
typedef struct progress {
    char part[4096]; /* its path */
    off_t size;
} progress;

static void say_once(const remote *r, int *told, const char *path, const char *text)
{
    char line[600];
    if (!r->log || __atomic_exchange_n(told, 1, __ATOMIC_RELAXED))
        return;
    (void)snprintf(line, sizeof line, "%.400s: %s", path, text);
    r->log->write(r->log->ctx, TUTTI_LOG_WARNING, line);
}

/* Another process has removed the file between open and flock; what has the lock then is no file of anybody. */
static bool is_still_there(int fd, const char *path)
{
    struct stat open_one, there;
    return fstat(fd, &open_one) == 0 && stat(path, &there) == 0 &&
           open_one.st_dev == there.st_dev && open_one.st_ino == there.st_ino;
}

static progress read_progress(int fd)
{
    progress now;
    struct stat st;
    const ssize_t n = pread(fd, now.part, sizeof now.part - 1, 0);
    now.part[n > 0 ? n : 0] = '\0';
    now.size = stat(now.part, &st) == 0 ? st.st_size : -1;
    return now;
}

enum { TURN_OURS, TURN_TAKEN, TURN_NONE };

/* One attempt; *ret_now is what whoever has the lock, or had it and died, has got. */
static int try_turn(remote_turn *t, progress *ret_now)
{
    t->fd = open(t->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (t->fd < 0) /* nor can the file be written: that is told then */
        return TURN_NONE;
    const int failed = flock(t->fd, LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
    *ret_now = read_progress(t->fd);
    if (!failed && is_still_there(t->fd, t->path))
        return TURN_OURS;
    (void)close(t->fd);
    t->fd = -1;
    if (!failed || failed == EWOULDBLOCK || failed == EINTR)
        return TURN_TAKEN;
    (void)unlink(t->path);
    t->error = failed;
    return TURN_NONE;
}

static bool is_same(const progress *a, const progress *b)
{
    return a->size == b->size && strcmp(a->part, b->part) == 0;
}

/* Removes what one who died has fetched of `path`; the lock, which is ours now, names it. */
static void remove_part(const progress *dead, const char *path)
{
    const size_t size = strlen(path);
    if (strncmp(dead->part, path, size) != 0 ||
        strncmp(dead->part + size, REMOTE_PART, strlen(REMOTE_PART)) != 0)
        return;
    const char *numbers = dead->part + size + strlen(REMOTE_PART);
    if (!numbers[strspn(numbers, "0123456789-")])
        (void)unlink(dead->part);
}

/* The turn is ours: others follow `part` from here on. */
static void begin_turn(const remote_turn *t, const progress *before, const char *path,
                       const char *part)
{
    remove_part(before, path);
    /* With its zero: one who died may have left a longer path; else others see no progress. */
    (void)!pwrite(t->fd, part, strlen(part) + 1, 0);
}

bool remote_turn_take(remote *r, const remote_check *check, const char *path, const char *part,
                      remote_turn *t)
{
    static int no_locks, stands_still; /* told in this process; atomic */
    const struct timespec step = {0, STEP_MS * 1000000};
    const int64_t most_ms = (int64_t)(1000 * r->silence_s) + REMOTE_LONGEST_WAIT_MS;
    progress now = {.size = -1}, before = {.size = -1};
    *t = (remote_turn){.fd = -1};
    if ((size_t)snprintf(t->path, sizeof t->path, "%s.lock", path) >= sizeof t->path)
        return true;
    int turn = try_turn(t, &now);
    for (int64_t ms = 0; turn == TURN_TAKEN && ms < most_ms; ms += STEP_MS) {
        if (remote_must_end(r, check))
            return false;
        (void)nanosleep(&step, NULL);
        turn = try_turn(t, &now);
        ms = is_same(&now, &before) ? ms : 0;
        before = now;
    }
    if (turn == TURN_OURS)
        begin_turn(t, &now, path, part);
    else if (turn == TURN_TAKEN)
        say_once(r, &stands_still, path,
                 "the process that fetches it stands still, so it is fetched here too");
    else if (t->error)
        say_once(r, &no_locks, path,
                 "the file system has no locks (flock), so each process fetches it");
    return true;
}

void remote_turn_end(remote_turn *t)
{
    if (t->fd < 0)
        return;
    (void)unlink(t->path); /* before others get the lock, who look whether it is there */
    (void)close(t->fd);
    t->fd = -1;
}
