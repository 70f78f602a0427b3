/* watchdog.c - names the calls that do not return. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin/crash/crash_internal.h"

#include "base/monotonic.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

enum { MAX_SLOTS = 256 };

/* A watched thread. */
typedef struct watch_slot {
    bool taken;
    pthread_t thread;
    _Atomic uint64_t *beats;
    uint64_t seen;   /* beats, when last looked at */
    double stood;    /* seconds since they rose */
    double patience; /* until it is named next */
} watch_slot;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of all that follows */
static pthread_cond_t stopped;
static watch_slot slots[MAX_SLOTS];
static pthread_t dog;
static bool running, stop;
static double limit;
static volatile uint64_t stood; /* whole seconds, of the thread that is told to name itself */
static _Thread_local watch_slot *own;

static int signal_number(void)
{
    return SIGRTMAX - 2;
}

void watchdog_join(void)
{
    (void)pthread_mutex_lock(&lock);
    for (int k = 0; k < MAX_SLOTS && !own; k++)
        if (!slots[k].taken) {
            slots[k] = (watch_slot){.taken = true,
                                    .thread = pthread_self(),
                                    .beats = &crash_beats,
                                    .patience = limit};
            own = &slots[k];
        }
    (void)pthread_mutex_unlock(&lock);
}

void watchdog_part(void)
{
    (void)pthread_mutex_lock(&lock);
    if (own)
        own->taken = false;
    own = NULL;
    (void)pthread_mutex_unlock(&lock);
}

/* In the thread itself, which is the only one that may read its breadcrumb. */
static void name_yourself(int number)
{
    const int saved = errno;
    const char *plugin = crash_plugin();
    crash_line l = {{0}, 0};
    if (plugin) {
        crash_line_add(&l, "tutti: plugin ");
        crash_line_add(&l, plugin);
        crash_line_add(&l, " has not returned for ");
        crash_line_add_number(&l, stood);
        crash_line_add(&l, " s: ");
        crash_line_add_call(&l);
        crash_line_write(&l);
    }
    errno = saved;
}

static void look(watch_slot *s, double passed)
{
    const uint64_t beats = atomic_load_explicit(s->beats, memory_order_relaxed);
    s->stood = beats == s->seen ? s->stood + passed : 0.0;
    s->seen = beats;
    if (s->stood == 0.0)
        s->patience = limit;
    if (s->stood < s->patience)
        return;
    s->patience *= 2.0;
    stood = (uint64_t)(s->stood + 0.5);
    (void)pthread_kill(s->thread, signal_number());
}

static struct timespec in_a_while(double seconds)
{
    const double at = monotonic_s() + seconds;
    return (struct timespec){(time_t)at, (long)(1e9 * (at - floor(at)))};
}

static void *watch(void *unused)
{
    double last = monotonic_s();
    (void)pthread_mutex_lock(&lock);
    while (!stop) {
        const struct timespec until = in_a_while(limit / 8.0);
        (void)pthread_cond_timedwait(&stopped, &lock, &until);
        const double now = monotonic_s(), passed = now - last;
        last = now;
        for (int k = 0; k < MAX_SLOTS && !stop; k++)
            if (slots[k].taken)
                look(&slots[k], passed);
    }
    (void)pthread_mutex_unlock(&lock);
    return unused;
}

tutti_status watchdog_start(double seconds, tutti_error *err)
{
    struct sigaction action;
    pthread_condattr_t monotonic;
    sigset_t all, before;
    memset(&action, 0, sizeof action);
    action.sa_handler = name_yourself;
    action.sa_flags = (int)(SA_RESTART | SA_ONSTACK);
    (void)sigemptyset(&action.sa_mask);
    (void)sigaction(signal_number(), &action, NULL);
    watchdog_stop();
    (void)pthread_condattr_init(&monotonic);
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&stopped, &monotonic);
    (void)pthread_condattr_destroy(&monotonic);
    limit = seconds;
    stop = false;
    for (int k = 0; k < MAX_SLOTS; k++)
        slots[k].patience = limit;
    (void)sigfillset(&all); /* signals are for the others */
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    running = pthread_create(&dog, NULL, watch, NULL) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return running ? TUTTI_OK
                   : tutti_fail(err, TUTTI_E_NOMEM, "no thread for the watchdog of plugins");
}

void watchdog_stop(void)
{
    if (!running)
        return;
    (void)pthread_mutex_lock(&lock);
    stop = true;
    (void)pthread_cond_signal(&stopped);
    (void)pthread_mutex_unlock(&lock);
    (void)pthread_join(dog, NULL);
    (void)pthread_cond_destroy(&stopped);
    running = false;
}
