/* crash.c - crash attribution by a breadcrumb: whose code a signal, an exit or a thread's end came out of. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin/crash/crash_internal.h"

#include <locale.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

static const char *signal_name(int number)
{
    switch (number) {
    case SIGSEGV:
        return "SIGSEGV";
    case SIGBUS:
        return "SIGBUS";
    case SIGFPE:
        return "SIGFPE";
    case SIGILL:
        return "SIGILL";
    default:
        return "SIGABRT";
    }
}

/* The plugin whose code the thread was in or had called, where no call of the host's is under way. */
static const char *culprit(const ucontext_t *context)
{
#ifdef __x86_64__
    const char *id = crash_code_of((uintptr_t)context->uc_mcontext.gregs[REG_RIP]);
    return id ? id : crash_code_on_stack((uintptr_t)context->uc_mcontext.gregs[REG_RSP]);
#elif defined(__aarch64__)
    const char *id = crash_code_of((uintptr_t)context->uc_mcontext.pc);
    return id ? id : crash_code_on_stack((uintptr_t)context->uc_mcontext.sp);
#else
    return crash_code_on_stack((uintptr_t)&context);
#endif
}

/* The default action, at once. */
static void die(int number)
{
    (void)signal(number, SIG_DFL);
    (void)raise(number);
}

static void handle(int number, siginfo_t *info, void *context)
{
    static atomic_flag told = ATOMIC_FLAG_INIT;
    static _Thread_local bool telling;
    if (number == SIGBUS && crash_refuge_take(info))
        return;
    if (telling) /* the telling itself crashed */
        die(number);
    while (atomic_flag_test_and_set(&told)) /* another thread is about to end the process */
        (void)pause();
    telling = true;
    crash_line l = {{0}, 0};
    const char *plugin = crash_plugin();
    const char *own = plugin ? NULL : culprit(context);
    crash_line_add(&l, "tutti: ");
    if (plugin) {
        crash_line_add(&l, "plugin ");
        crash_line_add(&l, plugin);
        crash_line_add(&l, " crashed: ");
        crash_line_add_call(&l);
        crash_line_add(&l, ": ");
    } else if (own) {
        crash_line_add(&l, "plugin ");
        crash_line_add(&l, own);
        crash_line_add(&l, " crashed in a thread of its own: ");
    } else {
        crash_line_add(&l, "crashed outside of any plugin: ");
    }
    crash_line_add(&l, signal_name(number));
    /* Nobody but a plugin asks for traps of floating point. */
    if (number == SIGFPE && !plugin && !own && info->si_code > 0 && info->si_code != FPE_INTDIV)
        crash_line_add(&l, "; a plugin has switched floating point traps on, "
                           "--check-plugins tells which");
    crash_line_write(&l);
    die(number);
}

/* ---- ends that nobody asked for ---- */

static _Atomic bool expected;
static pthread_key_t thread_key;
static pthread_once_t thread_once = PTHREAD_ONCE_INIT;

/* A process that a plugin forked may end by itself, but not go on as the run. */
static _Atomic bool forked;
static const char *forked_by;

static void in_child(void)
{
    const char *plugin = crash_plugin();
    forked_by = plugin ? plugin : "a plugin";
    atomic_store(&forked, true);
}

void crash_take_child(void)
{
    atomic_store(&forked, false);
}

void crash_refuse_child(void)
{
    if (!atomic_load(&forked))
        return;
    crash_line l = {{0}, 0};
    crash_line_add(&l, "tutti: a process that was forked by plugin ");
    crash_line_add(&l, forked_by);
    crash_line_add(&l, " came back into the run, and ends");
    crash_line_write(&l);
    _exit(EXIT_FAILURE);
}

void crash_expect_exit(void)
{
    crash_refuse_child();
    atomic_store(&expected, true);
}

enum {
    EXITS_AT_ONCE = 8
}; /* handlers for threads that call exit before the first has put one back */

static void say_end(const char *what)
{
    crash_line l = {{0}, 0};
    const char *plugin = crash_plugin();
    const char *own = plugin ? NULL : crash_code_on_stack((uintptr_t)&l);
    crash_line_add(&l, "tutti: ");
    if (plugin || own) {
        crash_line_add(&l, "plugin ");
        crash_line_add(&l, plugin ? plugin : own);
    } else {
        crash_line_add(&l, "something");
    }
    crash_line_add(&l, " ended ");
    crash_line_add(&l, what);
    if (plugin) {
        crash_line_add(&l, ": ");
        crash_line_add_call(&l);
    } else if (own) {
        crash_line_add(&l, ", in a thread of its own");
    }
    crash_line_write(&l);
}

/* Threads may call exit at once; each takes a handler off the C library's list, and one that finds none ends
 * the process with its own status.  So the handler is put back first, and the first thread has the word. */
static void at_exit(int status, void *unused)
{
    static atomic_flag told = ATOMIC_FLAG_INIT;
    (void)unused;
    if (atomic_load(&expected) || atomic_load(&forked))
        return;
    (void)on_exit(at_exit, NULL);
    while (atomic_flag_test_and_set(&told))
        (void)pause();
    say_end("the process");
    (void)fflush(NULL);
    _exit(status ? status : EXIT_FAILURE);
}

/* A thread of the host ends and has not said so: pthread_exit. */
static void at_thread_end(void *unused)
{
    (void)unused;
    say_end("a thread of the host");
    (void)fflush(NULL);
    _exit(EXIT_FAILURE);
}

static void make_key(void)
{
    (void)pthread_key_create(&thread_key, at_thread_end);
}

/* ---- threads ---- */

static pthread_once_t locale_once = PTHREAD_ONCE_INIT;
static locale_t c_locale; /* 0: no memory */

static void make_locale(void)
{
    c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

static _Thread_local bool
    keeps_locale; /* else the thread is an application's, with a locale of its own */

/* A stack overflow leaves no room for a handler on the stack that overflowed. */
static _Thread_local char alternate[64 * 1024];

void crash_thread_begin(void)
{
    const stack_t stack = {.ss_sp = alternate, .ss_size = sizeof alternate};
    (void)sigaltstack(&stack, NULL);
    (void)pthread_once(&thread_once, make_key);
    (void)pthread_setspecific(thread_key, alternate);
    (void)pthread_once(&locale_once, make_locale);
    keeps_locale = c_locale != (locale_t)0;
    crash_keep_locale();
    watchdog_join();
}

void crash_keep_locale(void)
{
    if (keeps_locale && uselocale((locale_t)0) != c_locale)
        (void)uselocale(c_locale);
}

void crash_thread_end(void)
{
    const stack_t none = {.ss_flags = SS_DISABLE};
    watchdog_part();
    (void)pthread_setspecific(thread_key, NULL);
    (void)sigaltstack(&none, NULL);
}

void crash_handler_install(void)
{
    static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = handle;
    action.sa_flags = (int)(SA_SIGINFO | SA_ONSTACK | SA_NODEFER);
    (void)sigemptyset(&action.sa_mask);
    crash_thread_begin();
    for (int k = 0; k < EXITS_AT_ONCE; k++)
        (void)on_exit(at_exit, NULL);
    (void)pthread_atfork(NULL, NULL, in_child);
    for (size_t k = 0; k < sizeof signals / sizeof *signals; k++)
        (void)sigaction(signals[k], &action, NULL);
}
