/* segment.c - a POSIX shared memory object with a barrier on a futex; processes that end are noticed. */
/* SPDX-License-Identifier: Apache-2.0 */
#define TUTTI_USE_MINOR 2 /* stopped of tutti_join */
#include "segment.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { SEGMENT_READY = 0x54544d53, LOOK_MS = 20, SPINS = 2000 };

static int64_t now_ms(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void pause_ms(long ms)
{
    const struct timespec t = {0, ms * 1000000};
    (void)nanosleep(&t, NULL);
}

static uint64_t header_bytes(int32_t size)
{
    const uint64_t bytes = sizeof(segment_header) + (uint64_t)size * sizeof(segment_rank);
    return (bytes + 4095) / 4096 * 4096;
}

char *segment_mailbox(const segment *s, int32_t rank)
{
    return s->mailboxes + (uint64_t)rank * s->shared->capacity;
}

/* ---- a rank that does not come ---- */

static int open_process(pid_t pid)
{
    return (int)syscall(SYS_pidfd_open, pid, 0);
}

/* Without a pidfd: by the state that /proc tells. */
static int is_gone(pid_t pid)
{
    char name[32], line[512] = "";
    (void)snprintf(name, sizeof name, "/proc/%d/stat", (int)pid);
    FILE *f = fopen(name, "re");
    if (!f)
        return kill(pid, 0) != 0 && errno == ESRCH;
    const size_t n = fread(line, 1, sizeof line - 1, f);
    (void)fclose(f);
    const char *state = n ? strrchr(line, ')') : NULL;
    return state && (state[2] == 'Z' || state[2] == 'X');
}

/* Whether a process has ended, waited for by its parent or not; `fd` is its pidfd, -1 where the kernel gives none. */
static int is_over(int fd, pid_t pid)
{
    struct pollfd p = {fd, POLLIN, 0};
    return fd >= 0 ? poll(&p, 1, 0) == 1 : is_gone(pid);
}

static int has_ended(segment *s, int32_t rank)
{
    const int32_t pid = atomic_load(&s->shared->ranks[rank].pid);
    if (pid == 0)
        return 0;
    if (s->peers[rank] < 0)
        s->peers[rank] = open_process(pid);
    return is_over(s->peers[rank], pid);
}

static void tell_fate(const segment *s, segment_fate fate, char *text, size_t size)
{
    if (fate == FATE_LATE)
        (void)snprintf(text, size, "has not come in %g s", s->timeout_ms * 1e-3);
    else
        (void)snprintf(text, size, "%s", fate == FATE_LEFT ? "has left the run" : "has ended");
}

/* Names `rank`, or the one that another has named before. */
static tutti_status break_off(segment *s, int32_t rank, segment_fate fate, tutti_error *err)
{
    uint32_t culprit = 0;
    const uint32_t seen = (uint32_t)fate << 16 | (uint32_t)(rank + 1);
    if (atomic_compare_exchange_strong(&s->shared->culprit, &culprit, seen))
        culprit = seen;
    rank = (int32_t)(culprit & 0xffff) - 1;
    const segment_rank *r = &s->shared->ranks[rank];
    const int32_t pid = atomic_load(&r->pid);
    char process[32] = "", what[64], last[112] = "";
    tell_fate(s, (segment_fate)(culprit >> 16), what, sizeof what);
    if (pid) /* 0: a rank that has not joined */
        (void)snprintf(process, sizeof process, " (process %d)", pid);
    if (r->progress.since_ns)
        (void)snprintf(last, sizeof last, "; it was last seen at step %llu, %s",
                       (unsigned long long)r->progress.step, r->progress.phase);
    s->why = (tutti_error)TUTTI_ERROR_INIT;
    s->broken = tutti_fail(&s->why, TUTTI_E_STATE, "rank %d%s %s%s", rank, process, what, last);
    return tutti_fail(err, s->broken, "%s", s->why.text);
}

/* Whether a rank came to barrier `round`, waits there no more, and did not leave by itself. */
static int was_killed_waiting(segment *s, int32_t rank, uint32_t round)
{
    return has_ended(s, rank) && !atomic_load(&s->shared->ranks[rank].left) &&
           atomic_load(&s->shared->round) == round;
}

/* Whether the operator does not want to wait for `rank` any more. */
static tutti_status check_stopped(const tutti_join *how, int32_t rank, tutti_error *err)
{
    const int stopped =
        how && TUTTI_HAS(how, tutti_join, ctx) && how->stopped && how->stopped(how->ctx);
    return stopped ? tutti_fail(err, TUTTI_E_INTERRUPTED, "stopped while rank %d had not come",
                                rank)
                   : TUTTI_OK;
}

/* Whether the process is stopped: one that stands still after it has said that it is there is waited for, too. */
static int stands_still(int32_t pid)
{
    char path[32], text[512] = "";
    (void)snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *f = fopen(path, "re");
    if (!f)
        return 0;
    (void)!fgets(text, sizeof text, f);
    (void)fclose(f);
    const char *name_end = strrchr(text, ')');
    return name_end && strncmp(name_end, ") T", 3) == 0;
}

/* Looks for whom barrier `round` waits in vain: a rank that has not come, or one that came and was killed there. */
static tutti_status segment_look(segment *s, uint32_t round, int64_t began, tutti_error *err)
{
    const int late = s->timeout_ms && now_ms() - began > s->timeout_ms;
    if (atomic_load(&s->shared->culprit))
        return break_off(s, s->rank, FATE_LATE, err);
    for (int32_t k = 0; k < s->size; k++) {
        const segment_rank *r = &s->shared->ranks[k];
        if ((int32_t)(atomic_load(&r->arrived) - round) > 0) {
            if (was_killed_waiting(s, k, round))
                return break_off(s, k, FATE_ENDED, err);
            continue;
        }
        if (atomic_load(&r->left))
            return break_off(s, k, FATE_LEFT, err);
        if (has_ended(s, k))
            return break_off(s, k, FATE_ENDED, err);
        if (late)
            return break_off(s, k, FATE_LATE, err);
        const tutti_status status = check_stopped(s->joins, k, err);
        if (status)
            return status;
    }
    for (int32_t k = 0; late && k < s->size; k++) /* all have come */
        if (k != s->rank && stands_still(atomic_load(&s->shared->ranks[k].pid)))
            return break_off(s, k, FATE_LATE, err);
    return TUTTI_OK;
}

tutti_status segment_wait(segment *s, tutti_error *err)
{
    segment_header *h = s->shared;
    if (s->broken)
        return tutti_fail(err, s->broken, "%s", s->why.text);
    const uint32_t round = atomic_load(&h->round);
    const int64_t began = now_ms();
    atomic_fetch_add(&h->ranks[s->rank].arrived, 1);
    if (atomic_fetch_add(&h->count, 1) + 1 == (uint32_t)s->size) {
        atomic_store(&h->count, 0);
        atomic_fetch_add(&h->round, 1);
        (void)syscall(SYS_futex, &h->round, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
        return TUTTI_OK;
    }
    for (int k = 0; k < SPINS; k++)
        if (atomic_load(&h->round) != round)
            return TUTTI_OK;
    while (atomic_load(&h->round) == round) {
        const struct timespec a_while = {0, LOOK_MS * 1000000};
        const long r = syscall(SYS_futex, &h->round, FUTEX_WAIT, round, &a_while, NULL, 0);
        if (r != 0 && errno == ETIMEDOUT) {
            const tutti_status status = segment_look(s, round, began, err);
            if (status)
                return status;
        }
    }
    return TUTTI_OK;
}

/* ---- the object ---- */

static tutti_status segment_map(segment *s, int fd, uint64_t bytes, tutti_error *err)
{
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED)
        return tutti_fail(err, TUTTI_E_IO, "cannot map %llu bytes of shared memory: %s",
                          (unsigned long long)bytes, strerror(errno));
    s->shared = at;
    s->bytes = bytes;
    s->mailboxes = (char *)at + header_bytes(s->size);
    return TUTTI_OK;
}

/* What a run before has left under the name goes; nobody has opened it who is alive. */
static tutti_status segment_make(segment *s, uint64_t capacity, uint64_t run, tutti_error *err)
{
    const uint64_t bytes = header_bytes(s->size) + (uint64_t)s->size * capacity;
    (void)shm_unlink(s->name);
    const int fd = shm_open(s->name, O_RDWR | O_CREAT | O_EXCL, 0600);
    if (fd < 0)
        return tutti_fail(err, TUTTI_E_IO, "cannot make the shared memory %s: %s", s->name,
                          strerror(errno));
    /* Room is taken now: a full file system is an error here, not a signal later. */
    const int full = posix_fallocate(fd, 0, (off_t)bytes);
    const tutti_status status =
        full ? tutti_fail(err, TUTTI_E_IO, "no room for %llu bytes of shared memory: %s",
                          (unsigned long long)bytes, strerror(full))
             : segment_map(s, fd, bytes, err);
    (void)close(fd);
    if (status) {
        (void)shm_unlink(s->name);
        return status;
    }
    s->shared->size = s->size;
    s->shared->run = run;
    s->shared->capacity = capacity;
    atomic_store(&s->shared->ready, SEGMENT_READY);
    return TUTTI_OK;
}

static void segment_unmap(segment *s)
{
    if (s->shared)
        (void)munmap(s->shared, s->bytes);
    s->shared = NULL;
}

/* Maps what rank 0 has made; 0 where it is not there, or is of a run that has ended. */
static int segment_attach(segment *s, tutti_error *err)
{
    struct stat now;
    const int fd = shm_open(s->name, O_RDWR, 0600);
    if (fd < 0)
        return 0;
    const int whole = fstat(fd, &now) == 0 && (uint64_t)now.st_size >= sizeof(segment_header);
    const int mapped = whole && segment_map(s, fd, (uint64_t)now.st_size, err) == TUTTI_OK;
    (void)close(fd);
    if (!mapped)
        return 0;
    const int32_t first = atomic_load(&s->shared->ready) == SEGMENT_READY
                              ? atomic_load(&s->shared->ranks[0].pid)
                              : 0;
    const int process = first ? open_process(first) : -1;
    const int alive = first && !is_over(process, first);
    if (process >= 0)
        (void)close(process);
    if (!alive)
        segment_unmap(s);
    return alive;
}

static tutti_status check_run(const segment *s, const tutti_join *how, tutti_error *err)
{
    if (s->shared->size != s->size)
        return tutti_fail(err, TUTTI_E_ARG, "rank %d is of a world of %d, rank 0 of one of %d",
                          s->rank, s->size, s->shared->size);
    if (s->shared->run != how->run)
        return tutti_fail(err, TUTTI_E_ARG, "rank %d has another run than rank 0", s->rank);
    return TUTTI_OK;
}

tutti_status segment_open(segment *s, const char *name, int32_t rank, int32_t size,
                          uint64_t capacity, const tutti_join *how, tutti_error *err)
{
    const int64_t began = now_ms();
    *s = (segment){.rank = rank, .size = size, .timeout_ms = how->timeout_ms};
    (void)snprintf(s->name, sizeof s->name, "%s", name);
    for (int k = 0; k < SEGMENT_RANKS; k++)
        s->peers[k] = -1;
    tutti_status status = rank == 0 ? segment_make(s, capacity, how->run, err) : TUTTI_OK;
    while (rank > 0 && !segment_attach(s, err)) {
        if (how->timeout_ms && now_ms() - began > how->timeout_ms)
            return tutti_fail(err, TUTTI_E_STATE, "rank 0 has not come in %g s",
                              how->timeout_ms * 1e-3);
        const tutti_status stopped = check_stopped(how, 0, err);
        if (stopped)
            return stopped;
        pause_ms(LOOK_MS);
    }
    if (!status && rank > 0)
        status = check_run(s, how, err);
    if (!status) {
        atomic_store(&s->shared->ranks[rank].pid, getpid());
        s->joins = how;
        status = segment_wait(s, err);
        s->joins = NULL;
    }
    if (rank == 0)
        (void)shm_unlink(s->name); /* all that will come have it */
    if (status)
        segment_close(s);
    return status;
}

void segment_close(segment *s)
{
    if (s->shared)
        atomic_store(&s->shared->ranks[s->rank].left, 1);
    for (int k = 0; k < SEGMENT_RANKS; k++)
        if (s->peers[k] >= 0)
            (void)close(s->peers[k]);
    segment_unmap(s);
}
