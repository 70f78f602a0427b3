/* process_state.c - rounding, locale, folder, signals, clock, files, threads and heap of the process. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin/crash/process_state.h"

#include <dirent.h>
#include <fcntl.h>
#include <fenv.h>
#include <limits.h>
#include <locale.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NSIGNALS = 65 };
/* Growth that is no accident: so many calls left more behind than left less, and so much in all. */
enum { CALLS_ENOUGH = 24, HEAP_ENOUGH = 1 << 20, FILES_ENOUGH = 256 };

/* What a thread has for itself, and the clock that its call was given. */
struct process_state {
    fenv_t floats;
    int rounding;
    int traps;
    unsigned subnormal; /* bits of the control register */
    locale_t thread_locale;
    sigset_t mask;
    const tutti_event *event;
    tutti_timestamp time, eval_time;
    int64_t counts[3];
    pid_t thread;
    uint32_t
        suspected; /* bits of PROCESS_*: found while this call was under way, before the next began */
    process_state *next;
};

/* What all threads share.  It is taken before the first of the calls under way, so that each change is found
 * once, by the first call that looks after it, and what is put back is never another plugin's change. */
static struct {
    pthread_mutex_t lock;
    process_state *calls; /* under way; the newest first */
    char locale[256];
    char folder[PATH_MAX];
    struct sigaction actions[NSIGNALS];
    unsigned streams; /* bits of 0, 1, 2 that are open */
} shared = {.lock = PTHREAD_MUTEX_INITIALIZER};

static unsigned subnormal_bits(void)
{
#ifdef __SSE2__
    return __builtin_ia32_stmxcsr() & 0x8040u; /* flush to zero, subnormals are zero */
#else
    return 0;
#endif
}

static int64_t count_entries(const char *folder)
{
    DIR *d = opendir(folder);
    int64_t n = 0;
    while (d && readdir(d))
        n++;
    if (d)
        (void)closedir(d);
    return n;
}

static void count(int64_t *counts)
{
    const struct mallinfo2 heap = mallinfo2();
    counts[0] = count_entries("/proc/self/fd");
    counts[1] = count_entries("/proc/self/task");
    counts[2] = (int64_t)(heap.uordblks + heap.hblkhd);
}

static unsigned open_streams(void)
{
    unsigned open = 0;
    for (int fd = 0; fd < 3; fd++)
        open |= fcntl(fd, F_GETFD) >= 0 ? 1u << fd : 0;
    return open;
}

static void look_at_thread(process_state *s)
{
    (void)fegetenv(&s->floats);
    s->rounding = fegetround();
    s->traps = fegetexcept();
    s->subnormal = subnormal_bits();
    s->thread_locale = uselocale((locale_t)0);
    (void)pthread_sigmask(SIG_SETMASK, NULL, &s->mask);
    s->thread = gettid();
}

static void look_at_shared(void)
{
    const char *locale = setlocale(LC_ALL, NULL);
    (void)snprintf(shared.locale, sizeof shared.locale, "%s", locale ? locale : "C");
    if (!getcwd(shared.folder, sizeof shared.folder))
        shared.folder[0] = '\0';
    for (int k = 1; k < NSIGNALS; k++)
        (void)sigaction(k, NULL, &shared.actions[k]);
    shared.streams = open_streams();
}

static void look_at_event(process_state *s)
{
    s->event = crash_breadcrumb.at;
    if (s->event && s->event->time)
        s->time = *s->event->time;
    if (s->event && s->event->eval_time)
        s->eval_time = *s->event->eval_time;
}

/* ---- what is put back ---- */

static uint32_t compare_floats(const process_state *s)
{
    uint32_t changes = 0;
    changes |= fegetround() != s->rounding ? 1u << PROCESS_ROUNDING : 0;
    changes |= fegetexcept() != s->traps ? 1u << PROCESS_TRAPS : 0;
    changes |= subnormal_bits() != s->subnormal ? 1u << PROCESS_SUBNORMAL : 0;
    if (changes)
        (void)fesetenv(&s->floats);
    return changes;
}

static uint32_t compare_thread_locale(const process_state *s)
{
    if (uselocale((locale_t)0) == s->thread_locale)
        return 0;
    (void)uselocale(s->thread_locale);
    return 1u << PROCESS_LOCALE;
}

static uint32_t compare_mask(const process_state *s)
{
    sigset_t mask;
    (void)pthread_sigmask(SIG_SETMASK, NULL, &mask);
    for (int k = 1; k < NSIGNALS; k++)
        if (sigismember(&mask, k) != sigismember(&s->mask, k)) {
            (void)pthread_sigmask(SIG_SETMASK, &s->mask, NULL);
            return 1u << PROCESS_MASK;
        }
    return 0;
}

static uint32_t compare_locale(void)
{
    const char *now = setlocale(LC_ALL, NULL);
    if (now && strncmp(now, shared.locale, sizeof shared.locale - 1) == 0)
        return 0;
    (void)setlocale(LC_ALL, shared.locale);
    return 1u << PROCESS_LOCALE;
}

static uint32_t compare_folder(void)
{
    char now[PATH_MAX];
    if (!shared.folder[0] || (getcwd(now, sizeof now) && strcmp(now, shared.folder) == 0))
        return 0;
    (void)!chdir(shared.folder);
    return 1u << PROCESS_FOLDER;
}

static bool same_action(const struct sigaction *a, const struct sigaction *b)
{
    const bool info = a->sa_flags & SA_SIGINFO;
    return a->sa_flags == b->sa_flags &&
           (info ? a->sa_sigaction == b->sa_sigaction : a->sa_handler == b->sa_handler);
}

static uint32_t compare_signals(void)
{
    uint32_t changes = 0;
    for (int k = 1; k < NSIGNALS; k++) {
        struct sigaction now;
        if (sigaction(k, NULL, &now) == 0 && !same_action(&now, &shared.actions[k])) {
            changes = 1u << PROCESS_SIGNALS;
            (void)sigaction(k, &shared.actions[k], NULL);
        }
    }
    return changes;
}

/* Streams stay as they are: what was behind them is gone. */
static uint32_t compare_streams(void)
{
    const unsigned now = open_streams();
    const uint32_t changes = now != shared.streams ? 1u << PROCESS_STREAMS : 0;
    shared.streams = now;
    return changes;
}

static uint32_t compare_shared(void)
{
    return compare_locale() | compare_folder() | compare_signals() | compare_streams();
}

/* A plugin sees clocks of the host's through a pointer to const. */
static uint32_t compare_clock(const process_state *s)
{
    const tutti_event *e = s->event;
    uint32_t changes = 0;
    if (e && e->time && memcmp(e->time, &s->time, sizeof s->time) != 0) {
        memcpy((void *)(uintptr_t)e->time, &s->time, sizeof s->time);
        changes = 1u << PROCESS_CLOCK;
    }
    if (e && e->eval_time && memcmp(e->eval_time, &s->eval_time, sizeof s->eval_time) != 0) {
        memcpy((void *)(uintptr_t)e->eval_time, &s->eval_time, sizeof s->eval_time);
        changes = 1u << PROCESS_CLOCK;
    }
    return changes;
}

/* ---- what grows ---- */

static bool is_alone(void)
{
    return gettid() == getpid();
}

/* Beside others: calls behind which there are more files than behind any before.  A data set may keep some open. */
static uint32_t compare_files(process_account *a, int64_t now)
{
    a->files_grown += a->most > 0 && now > a->most;
    a->most = now > a->most ? now : a->most;
    return a->files_grown >= FILES_ENOUGH ? 1u << PROCESS_FILES : 0;
}

/* Whether this is growth that goes on, not a cache that fills: of what one call takes no more counts than its share of
 * enough.  Beside others threads and memory come and go. */
static uint32_t compare_counts(const process_state *s, process_account *a)
{
    int64_t now[3];
    uint32_t changes = 0;
    count(now);
    if (!is_alone())
        return compare_files(a, now[0]);
    for (int k = 0; k < 3; k++) {
        const int64_t more = now[k] - s->counts[k];
        const int64_t enough = k == 2 ? HEAP_ENOUGH : CALLS_ENOUGH;
        const int64_t share = enough / CALLS_ENOUGH;
        a->taken[k] += more < share ? more : share;
        a->grown[k] += (more > 0) - (more < 0);
        if (a->grown[k] >= CALLS_ENOUGH && a->taken[k] >= enough)
            changes |= 1u << (PROCESS_FILES + k);
    }
    return changes;
}

/* ---- calls under way ---- */

process_state *process_look(void)
{
    process_state *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    (void)pthread_mutex_lock(&shared.lock);
    if (!shared.calls)
        look_at_shared();
    const uint32_t changes = shared.calls ? compare_shared() : 0;
    for (process_state *call = shared.calls; changes && call; call = call->next)
        call->suspected |= changes;
    s->next = shared.calls;
    shared.calls = s;
    (void)pthread_mutex_unlock(&shared.lock);
    look_at_thread(s);
    look_at_event(s);
    count(s->counts);
    return s;
}

/* What this call may have changed in what threads share; `ret_unsure` has what calls of other threads may have
 * changed as well. */
static uint32_t end_call(process_state *s, uint32_t *ret_unsure)
{
    (void)pthread_mutex_lock(&shared.lock);
    const uint32_t changes = compare_shared() | s->suspected;
    *ret_unsure = 0;
    for (process_state **at = &shared.calls; *at;) {
        if ((*at)->thread != s->thread)
            *ret_unsure = changes;
        if (*at == s)
            *at = s->next;
        else
            at = &(*at)->next;
    }
    (void)pthread_mutex_unlock(&shared.lock);
    return changes;
}

void process_compare(process_state *before, process_account *account,
                     void (*say)(void *ctx, int change, const char *text), void *ctx)
{
    static const char *const texts[][2] = {
#define PROCESS_X(name, text) {text, text ", or a call beside this one did"},
        PROCESS_CHANGES(PROCESS_X)
#undef PROCESS_X
    };
    uint32_t unsure;
    const uint32_t shared_changes = end_call(before, &unsure);
    const uint32_t growth = compare_counts(before, account);
    const uint32_t own = compare_floats(before) | compare_thread_locale(before) |
                         compare_mask(before) | compare_clock(before) |
                         (is_alone() ? growth : 0);
    unsure |= is_alone() ? 0 : growth;
    free(before);
    for (int k = 0; k < PROCESS_CHANGES_COUNT; k++)
        if ((own | shared_changes | growth) >> k & 1 && !(account->said >> k & 1)) {
            account->said |= 1u << k;
            say(ctx, k, texts[k][unsure >> k & 1 && !(own >> k & 1)]);
        }
}
