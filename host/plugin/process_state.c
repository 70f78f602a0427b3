/* process_state.c - rounding, locale, folder, signals, clock, files, threads and heap of the process. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin/process_state.h"

#include <dirent.h>
#include <fcntl.h>
#include <fenv.h>
#include <limits.h>
#include <locale.h>
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NSIGNALS = 65 };
/* Growth that is no accident: so many calls left more behind than left less, and so much in all. */
enum { CALLS_ENOUGH = 24, HEAP_ENOUGH = 1 << 20 };

struct process_state {
    fenv_t floats;
    int rounding;
    int traps;
    unsigned subnormal; /* bits of the control register */
    char locale[256];
    locale_t thread_locale;
    char folder[PATH_MAX];
    sigset_t mask;
    struct sigaction actions[NSIGNALS];
    const tutti_event *event;
    tutti_timestamp time, eval_time;
    unsigned streams; /* bits of 0, 1, 2 that are open */
    int64_t counts[3];
};

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

static void look_at_event(process_state *s)
{
    s->event = crash_breadcrumb.at;
    if (s->event && s->event->time)
        s->time = *s->event->time;
    if (s->event && s->event->eval_time)
        s->eval_time = *s->event->eval_time;
}

process_state *process_look(void)
{
    process_state *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    (void)fegetenv(&s->floats);
    s->rounding = fegetround();
    s->traps = fegetexcept();
    s->subnormal = subnormal_bits();
    const char *locale = setlocale(LC_ALL, NULL);
    strncpy(s->locale, locale ? locale : "C", sizeof s->locale - 1);
    s->thread_locale = uselocale((locale_t)0);
    if (!getcwd(s->folder, sizeof s->folder))
        s->folder[0] = '\0';
    (void)pthread_sigmask(SIG_SETMASK, NULL, &s->mask);
    for (int k = 1; k < NSIGNALS; k++)
        (void)sigaction(k, NULL, &s->actions[k]);
    look_at_event(s);
    s->streams = open_streams();
    count(s->counts);
    return s;
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

static uint32_t compare_locale(const process_state *s)
{
    const char *now = setlocale(LC_ALL, NULL);
    const bool global = !now || strncmp(now, s->locale, sizeof s->locale - 1) != 0;
    const bool own = uselocale((locale_t)0) != s->thread_locale;
    if (own)
        (void)uselocale(s->thread_locale);
    if (global)
        (void)setlocale(LC_ALL, s->locale);
    return global || own ? 1u << PROCESS_LOCALE : 0;
}

static uint32_t compare_folder(const process_state *s)
{
    char now[PATH_MAX];
    if (!s->folder[0] || (getcwd(now, sizeof now) && strcmp(now, s->folder) == 0))
        return 0;
    (void)!chdir(s->folder);
    return 1u << PROCESS_FOLDER;
}

static bool same_action(const struct sigaction *a, const struct sigaction *b)
{
    const bool info = a->sa_flags & SA_SIGINFO;
    return a->sa_flags == b->sa_flags &&
           (info ? a->sa_sigaction == b->sa_sigaction : a->sa_handler == b->sa_handler);
}

static uint32_t compare_signals(const process_state *s)
{
    uint32_t changes = 0;
    sigset_t mask;
    (void)pthread_sigmask(SIG_SETMASK, NULL, &mask);
    for (int k = 1; k < NSIGNALS; k++) {
        struct sigaction now;
        if (sigaction(k, NULL, &now) == 0 && !same_action(&now, &s->actions[k])) {
            changes |= 1u << PROCESS_SIGNALS;
            (void)sigaction(k, &s->actions[k], NULL);
        }
        if (sigismember(&mask, k) != sigismember(&s->mask, k))
            changes |= 1u << PROCESS_MASK;
    }
    if (changes >> PROCESS_MASK & 1)
        (void)pthread_sigmask(SIG_SETMASK, &s->mask, NULL);
    return changes;
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

/* Whether this is growth that goes on, not a cache that fills. */
static uint32_t compare_counts(const process_state *s, process_account *a)
{
    int64_t now[3];
    uint32_t changes = 0;
    if (gettid() != getpid()) /* others work beside it */
        return 0;
    count(now);
    for (int k = 0; k < 3; k++) {
        const int64_t more = now[k] - s->counts[k];
        a->taken[k] += more;
        a->grown[k] += (more > 0) - (more < 0);
        if (a->grown[k] >= CALLS_ENOUGH && a->taken[k] >= (k == 2 ? HEAP_ENOUGH : CALLS_ENOUGH))
            changes |= 1u << (PROCESS_FILES + k);
    }
    return changes;
}

void process_compare(process_state *before, process_account *account,
                     void (*say)(void *ctx, int change, const char *text), void *ctx)
{
    static const char *const texts[] = {
#define PROCESS_X(name, text) text,
        PROCESS_CHANGES(PROCESS_X)
#undef PROCESS_X
    };
    uint32_t changes = compare_floats(before) | compare_locale(before) |
                       compare_folder(before) | compare_signals(before) | compare_clock(before);
    if (open_streams() != before->streams)
        changes |= 1u << PROCESS_STREAMS;
    changes |= compare_counts(before, account);
    free(before);
    for (int k = 0; k < PROCESS_CHANGES_COUNT; k++)
        if (changes >> k & 1 && !(account->said >> k & 1)) {
            account->said |= 1u << k;
            say(ctx, k, texts[k]);
        }
}
