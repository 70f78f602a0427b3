/* child.c - a child process per piece of work: its limits, its sentences through shared memory, its end. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "check/child.h"
#include "base/monotonic.h"
#include "plugin/crash/crash.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Shared with the child, so that nothing that it has said is lost when it dies. */
struct child {
    child_report report;
    int check; /* under way */
    int lacks; /* 1 + the check that memory was out for; 0: none */
    int ended;
};

static pthread_mutex_t saying = PTHREAD_MUTEX_INITIALIZER;

void child_say(child *c, int check, int outcome, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)pthread_mutex_lock(&saying);
    int *now = &c->report.outcome[check];
    if (*now != CHECK_FAILED && (*now != CHECK_NOT_TRIED || outcome == CHECK_FAILED)) {
        *now = outcome;
        (void)vsnprintf(c->report.text[check], sizeof c->report.text[check], format, args);
    }
    (void)pthread_mutex_unlock(&saying);
    va_end(args);
}

void child_give_up(child *c, int check, const char *what, const tutti_error *why)
{
    child_say(c, check, CHECK_NOT_TRIED, "%s%s", what, why->text);
    if (why->status == TUTTI_E_NOMEM)
        c->lacks = check + 1;
}

void child_begin(child *c, int check)
{
    c->check = check;
    if (c->report.outcome[check] < 0)
        c->report.outcome[check] = CHECK_PASSED;
}

/* Sanitizers map terabytes for what they keep of memory; gcc says so by one name, clang by another. */
#ifndef __has_feature
#define __has_feature(name) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) ||                           \
    __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HAS_SHADOW 1
#else
#define HAS_SHADOW 0
#endif

/* Limits that this process has are the child's too, where they are lower. */
static void limit(int what, rlim_t most)
{
    struct rlimit l;
    if (getrlimit(what, &l) != 0)
        return;
    l.rlim_max = l.rlim_max < most ? l.rlim_max : most;
    l.rlim_cur = l.rlim_cur < most ? l.rlim_cur : most;
    (void)setrlimit(what, &l);
}

/* Enough for any plugin that is tried with a toy, and no more than a machine can bear. */
static void set_limits(double seconds)
{
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_CPU, (rlim_t)(4 * seconds) + 1);
    limit(RLIMIT_FSIZE, (rlim_t)1 << 30);
#if !HAS_SHADOW
    limit(RLIMIT_DATA, (rlim_t)4 << 30);
#endif
}

static _Noreturn void be_child(child *c, const char *folder, double seconds, const int *files,
                               void (*work)(child *c, void *ctx), void *ctx)
{
    (void)dup2(files[0], STDOUT_FILENO);
    (void)dup2(files[1], STDERR_FILENO);
    crash_take_child();
    set_limits(seconds);
    if (chdir(folder) != 0)
        _exit(3);
    work(c, ctx);
    (void)fflush(stdout);
    c->ended = 1;
    crash_expect_exit();
    _exit(0);
}

/* The end of what the child wrote, one line: who crashed stands there. */
static void last_words(int file, char *text, size_t size)
{
    const off_t end = lseek(file, 0, SEEK_END);
    const off_t from = end > (off_t)size - 1 ? end - (off_t)size + 1 : 0;
    const ssize_t got = pread(file, text, size - 1, from);
    text[got > 0 ? got : 0] = '\0';
    for (size_t n = strlen(text); n && text[n - 1] == '\n'; n--)
        text[n - 1] = '\0';
    const char *line = strstr(text, "tutti: plugin ");
    if (!line && (line = strrchr(text, '\n')))
        line++;
    if (line)
        memmove(text, line, strlen(line) + 1);
    text[strcspn(text, "\n")] = '\0';
}

/* Waits until the child ends or its time is over; 0: it was over. */
static int wait_for(pid_t pid, double seconds, int *ret_status)
{
    const double began = monotonic_s();
    for (;;) {
        const pid_t got = waitpid(pid, ret_status, WNOHANG);
        if (got == pid || (got < 0 && errno != EINTR))
            break;
        if (monotonic_s() - began > seconds) {
            (void)kill(pid, SIGKILL);
            (void)waitpid(pid, ret_status, 0);
            return 0;
        }
        struct timespec pause = {0, 2000000};
        (void)nanosleep(&pause, NULL);
    }
    return 1;
}

/* The child's end, as a failure of the check under way. */
static void judge_end(child *c, int in_time, int status, double seconds, int errors)
{
    char words[480];
    last_words(errors, words, sizeof words);
    if (!in_time)
        child_say(c, c->check, CHECK_FAILED, "does not end within %g s%s%s", seconds,
                  *words ? ": " : "", words);
    else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU)
        child_say(c, c->check, CHECK_FAILED, "computes for more than %g s", 4 * seconds);
    else if (!c->ended)
        child_say(c, c->check, CHECK_FAILED, "ends the process%s%s",
                  WIFSIGNALED(status) ? ", by SIG" : "",
                  WIFSIGNALED(status) ? sigabbrev_np(WTERMSIG(status)) : "");
    if (!c->ended && in_time && *words)
        (void)snprintf(c->report.text[c->check], sizeof c->report.text[c->check], "%s",
                       strncmp(words, "tutti: ", 7) == 0 ? words + 7 : words);
}

tutti_status child_run(const char *folder, double seconds, bool may_print,
                       void (*work)(child *c, void *ctx), void *ctx, child_report *report,
                       bool *ret_ended, tutti_error *err)
{
    tutti_status s = TUTTI_OK;
    int status = 0;
    child *c = mmap(NULL, sizeof *c, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    const int files[] = {memfd_create("out", MFD_CLOEXEC), memfd_create("err", MFD_CLOEXEC)};
    if (c == MAP_FAILED || files[0] < 0 || files[1] < 0)
        s = tutti_fail(err, TUTTI_E_NOMEM, "no memory for a child process");
    if (!s)
        for (int k = 0; k < CHECKS_COUNT; k++)
            c->report.outcome[k] = -1;
    (void)fflush(NULL);
    const pid_t pid = s ? -1 : fork();
    if (pid == 0)
        be_child(c, folder, seconds, files, work, ctx);
    if (!s && pid < 0)
        s = tutti_fail(err, TUTTI_E_IO, "no child process can be made: %s", strerror(errno));
    if (!s) {
        const int in_time = wait_for(pid, seconds, &status);
        judge_end(c, in_time, status, seconds, files[1]);
        if (!may_print && lseek(files[0], 0, SEEK_END) > 0)
            child_say(c, c->check <= CHECK_ENTRY ? c->check : CHECK_PROCESS, CHECK_FAILED,
                      "writes to standard output; messages go through tutti.log/1");
        *report = c->report;
        *ret_ended = c->ended;
        if (c->lacks)
            s = tutti_fail(err, TUTTI_E_NOMEM, "no memory for a check: %s",
                           c->report.text[c->lacks - 1]);
    }
    if (c != MAP_FAILED)
        (void)munmap(c, sizeof *c);
    for (int k = 0; k < 2; k++)
        if (files[k] >= 0)
            (void)close(files[k]);
    return s;
}
