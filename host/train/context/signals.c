/* signals.c - what signals mean to training: stop after the batch under way, leave what hangs, save. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/context/signals.h"

#include "plugin/crash/crash.h"
#include "train/run_file/run_file.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static volatile sig_atomic_t caught, count, can_escape; /* of the thread that trains */
/* Any thread may be the one that a signal to save comes to, and reads what is pending. */
static atomic_int pending, pending_save, asked;
static atomic_bool deferred;
static pid_t trains; /* the thread */
static sigjmp_buf escape;

/* What becomes of the signal, and what it waits for. */
static void tell(int number, const char *what)
{
    const char *plugin = crash_plugin();
    crash_line l = {{0}, 0};
    crash_line_add(&l, "tutti: signal ");
    crash_line_add_number(&l, (uint64_t)number);
    crash_line_add(&l, what);
    if (plugin) {
        crash_line_add(&l, "; plugin ");
        crash_line_add(&l, plugin);
        crash_line_add(&l, " is at work: ");
        crash_line_add_call(&l);
    }
    crash_line_write(&l);
}

static void kill_at_once(int number)
{
    sigset_t one;
    (void)signal(number, SIG_DFL);
    (void)sigemptyset(&one);
    (void)sigaddset(&one, number);
    (void)pthread_sigmask(SIG_UNBLOCK, &one, NULL);
    (void)raise(number);
}

static void on_stop(int number)
{
    const int saved = errno;
    if (gettid() != trains) { /* whose call it is about */
        (void)syscall(SYS_tgkill, getpid(), trains, number);
        errno = saved;
        return;
    }
    if (++count == 1) {
        atomic_store(&pending, number);
        if (!atomic_load(&deferred))
            caught = number;
        tell(number, ": stopping after this batch; a second signal does not wait for it");
    } else if (count > 2) {
        kill_at_once(number);
    } else if (crash_plugin() && can_escape && !crash_breadcrumb.whole) {
        tell(number, ": leaving the call under way");
        can_escape = 0;
        crash_breadcrumb = (breadcrumb){.plugin = NULL};
        siglongjmp(escape, 1);
    } else {
        tell(number, ": stopping as soon as possible; a third signal kills");
    }
    errno = saved;
}

static void on_save(int number)
{
    if (atomic_load(&deferred))
        atomic_store(&pending_save, number);
    else
        atomic_store(&asked, number);
}

/* What whoever started this process has it ignore stays ignored, as nohup and shells want. */
static void take(int number, void (*what)(int), int flags)
{
    struct sigaction action, now;
    memset(&action, 0, sizeof action);
    action.sa_handler = what;
    action.sa_flags = flags;
    (void)sigemptyset(&action.sa_mask);
    if (sigaction(number, NULL, &now) == 0 && now.sa_handler != SIG_IGN)
        (void)sigaction(number, &action, NULL);
}

void trainer_catch_signals(unsigned saves)
{
    trains = gettid();
    take(SIGINT, on_stop, SA_RESTART);
    take(SIGTERM, on_stop, SA_RESTART);
    take(SIGHUP, saves & RUN_SAVES_ON_HUP ? on_save : on_stop, SA_RESTART);
    if (saves & RUN_SAVES_ON_USR1)
        take(SIGUSR1, on_save, SA_RESTART);
    if (saves & RUN_SAVES_ON_USR2)
        take(SIGUSR2, on_save, SA_RESTART);
    take(SIGPIPE, SIG_IGN, 0);
}

int trainer_signal(void)
{
    return (int)caught;
}

void trainer_defer_signals(void)
{
    atomic_store(&deferred, true);
    caught = 0; /* what came while the ranks joined is pending */
}

int trainer_pending_signal(void)
{
    return atomic_load(&pending);
}

int trainer_first_signal(void)
{
    return caught ? (int)caught : trainer_pending_signal();
}

void trainer_accept_signal(int number)
{
    caught = number;
}

bool trainer_pending_save(void)
{
    return atomic_exchange(&pending_save, 0) != 0;
}

void trainer_accept_save(void)
{
    atomic_store(&asked, 1);
}

bool trainer_save_asked(void)
{
    return atomic_exchange(&asked, 0) != 0;
}

bool trainer_hurries(void)
{
    return count > 1;
}

sigjmp_buf *trainer_escape(void)
{
    can_escape = 1;
    return &escape;
}

void trainer_escape_end(void)
{
    can_escape = 0;
}
