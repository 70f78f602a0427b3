/* child.c - posix_spawn, and a pipe of which the kernel says how much was read. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LOOK_MS = 20 /* between looks at what the kernel does not tell by itself */ };

/* A group of its own, so that an interrupt from the terminal leaves it time for the end; signals as at the
 * start of a program, which the thread that calls this blocks. */
static int set_attributes(posix_spawnattr_t *attr)
{
    sigset_t none, all;
    (void)sigemptyset(&none);
    (void)sigfillset(&all);
    int failed = posix_spawnattr_setsigmask(attr, &none);
    failed = failed ? failed : posix_spawnattr_setsigdefault(attr, &all);
    failed = failed ? failed : posix_spawnattr_setpgroup(attr, 0);
    return failed
               ? failed
               : posix_spawnattr_setflags(attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                                    POSIX_SPAWN_SETPGROUP);
}

static int set_streams(posix_spawn_file_actions_t *actions, int in, const char *output)
{
    int failed = posix_spawn_file_actions_adddup2(actions, in, 0);
    failed = failed
                 ? failed
                 : posix_spawn_file_actions_addopen(actions, 1, output ? output : "/dev/null",
                                                    O_WRONLY | O_CREAT | O_APPEND, 0666);
    return failed ? failed : posix_spawn_file_actions_adddup2(actions, 1, 2);
}

static int child_spawn(child *c, int in)
{
    posix_spawnattr_t attr;
    posix_spawn_file_actions_t actions;
    int failed = posix_spawnattr_init(&attr);
    if (failed)
        return failed;
    failed = posix_spawn_file_actions_init(&actions);
    if (!failed) {
        failed = set_attributes(&attr);
        failed = failed ? failed : set_streams(&actions, in, c->output);
        /* NOLINTNEXTLINE(cppcoreguidelines-pro-type-cast-qual) execvp's argv is as constant as ours */
        char *const *argv = (char *const *)(uintptr_t)c->argv;
        failed =
            failed ? failed : posix_spawnp(&c->pid, argv[0], &actions, &attr, argv, environ);
        (void)posix_spawn_file_actions_destroy(&actions);
    }
    (void)posix_spawnattr_destroy(&attr);
    return failed;
}

tutti_status child_start(child *c, tutti_error *err)
{
    int ends[2];
    if (c->pid)
        return TUTTI_OK;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return tutti_fail(err, TUTTI_E_IO, "pipe: cannot make a pipe: %s", strerror(errno));
    const int failed = child_spawn(c, ends[0]);
    (void)close(ends[0]);
    if (failed || fcntl(ends[1], F_SETFL, O_NONBLOCK) != 0) {
        c->pid = 0;
        (void)close(ends[1]);
        return tutti_fail(err, TUTTI_E_IO, "pipe: cannot start %s: %s", c->argv[0],
                          strerror(failed ? failed : errno));
    }
    c->in = ends[1];
    return TUTTI_OK;
}

static tutti_status fail_ended(const child *c, int status, tutti_error *err)
{
    if (WIFSIGNALED(status))
        return tutti_fail(err, TUTTI_E_IO, "pipe: %s was killed by signal %d%s%s", c->argv[0],
                          WTERMSIG(status), c->output ? "; it printed to " : "",
                          c->output ? c->output : "");
    return tutti_fail(err, TUTTI_E_IO, "pipe: %s ended with status %d%s%s", c->argv[0],
                      WEXITSTATUS(status), c->output ? "; it printed to " : "",
                      c->output ? c->output : "");
}

/* Its whole group goes: nobody reads what it would still write. */
static void end_group(child *c, int *ret_status)
{
    (void)kill(-c->pid, SIGKILL);
    (void)kill(c->pid, SIGKILL); /* before it has its group */
    while (waitpid(c->pid, ret_status, 0) < 0 && errno == EINTR)
        ;
    c->pid = 0;
}

static void close_input(child *c)
{
    if (c->in >= 0)
        (void)close(c->in);
    c->in = -1;
}

/* Waits for its end as long as `limit_ms` and outbox_must_end allow. */
static bool wait_for_end(child *c, outbox *o, int64_t limit_ms, int *ret_status)
{
    for (int64_t waited = 0;; waited += LOOK_MS) {
        const pid_t ended = waitpid(c->pid, ret_status, WNOHANG);
        if (ended == c->pid || (ended < 0 && errno != EINTR)) {
            c->pid = 0;
            return true;
        }
        if (waited >= limit_ms || !outbox_wait(o, LOOK_MS))
            return false;
    }
}

/* Nobody reads any more. */
static tutti_status child_gone(child *c, outbox *o, tutti_error *err)
{
    int status = 0;
    close_input(c);
    if (wait_for_end(c, o, 1000, &status))
        return fail_ended(c, status, err);
    end_group(c, &status);
    return tutti_fail(err, TUTTI_E_IO, "pipe: %s has closed its input", c->argv[0]);
}

/* ---- feeding ---- */

/* Bytes of `done` that were read, in whole records. */
static uint32_t count_read(const outbox_record *records, uint32_t n, size_t bytes)
{
    uint32_t whole = 0;
    while (whole < n && records[whole].size <= bytes)
        bytes -= records[whole++].size;
    return whole;
}

/* Waits until there is room (or, with everything written, for a moment), nobody reads any more, or it must end.
 * False: nobody reads. */
static bool wait_for_reader(const child *c, const outbox *o, bool all_written)
{
    struct pollfd fds[2] = {{c->in, all_written ? 0 : POLLOUT, 0},
                            {outbox_end_fd(o), POLLIN, 0}};
    (void)poll(fds, 2, all_written ? LOOK_MS : -1);
    return !(fds[0].revents & (POLLERR | POLLNVAL));
}

/* Writes as much of the records as the pipe takes; `done` bytes went before. */
static size_t write_some(const child *c, const outbox_record *records, uint32_t n, size_t done)
{
    size_t skip = done;
    for (uint32_t k = 0; k < n; k++) {
        if (skip >= records[k].size) {
            skip -= records[k].size;
            continue;
        }
        const ssize_t wrote = write(c->in, records[k].data + skip, records[k].size - skip);
        if (wrote <= 0)
            return done;
        done += (size_t)wrote;
        if ((size_t)wrote < records[k].size - skip)
            return done;
        skip = 0;
    }
    return done;
}

tutti_status child_feed(child *c, outbox *o, const outbox_record *records, uint32_t n,
                        uint32_t *ret_read, tutti_error *err)
{
    size_t size = 0, done = 0;
    bool reads = true;
    int unread = 0;
    for (uint32_t k = 0; k < n; k++)
        size += records[k].size;
    do {
        done = write_some(c, records, n, done);
        reads = wait_for_reader(c, o, done == size);
        (void)ioctl(c->in, FIONREAD, &unread);
    } while (reads && (done < size || unread > 0) && !outbox_must_end(o));
    (void)ioctl(c->in, FIONREAD, &unread); /* it may have read on meanwhile */
    *ret_read = count_read(records, n, done - (size_t)unread);
    return reads ? TUTTI_OK : child_gone(c, o, err);
}

tutti_status child_finish(child *c, outbox *o, tutti_error *err)
{
    int status = 0;
    if (!c->pid)
        return TUTTI_OK;
    close_input(c);
    if (!wait_for_end(c, o, INT64_MAX, &status)) {
        end_group(c, &status);
        return tutti_fail(err, TUTTI_E_FAIL,
                          "pipe: %s did not end in time after its input had, and was killed",
                          c->argv[0]);
    }
    return status == 0 ? TUTTI_OK : fail_ended(c, status, err);
}
