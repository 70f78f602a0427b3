/* background.c - sums of gradients beside the computation: one thread that talks to the other ranks meanwhile. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "dist/world_internal.h"

#include "base/monotonic.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* An engine such as MPI moves bytes only while it is called.  The thread calls it as long as there is anything to move: where
 * no piece is there to begin it asks what is under way, until one comes.  Nobody else calls the engine then: what blocks
 * waits for the thread first. */

/* Between two questions, so that ranks that share a processor get on. */
enum { PAUSE_NS = 50000 };

/* The first version of Linux's struct sched_attr. */
typedef struct slice_request {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime_ns, deadline_ns, period_ns;
} slice_request;

/* The thread has some microseconds to do whenever it is woken, and a link is idle until it has.  Since version 6.12 Linux
 * lets a thread that asks for short slices run at once beside threads with longer ones; before, and in classes of other
 * kinds, nothing changes. */
static void ask_for_short_slices(void)
{
    slice_request r = {.size = sizeof r};
    if (syscall(SYS_sched_getattr, 0, &r, (uint32_t)sizeof r, 0) != 0 ||
        (r.policy != SCHED_OTHER && r.policy != SCHED_BATCH))
        return;
    r.size = sizeof r;
    r.runtime_ns = BACKGROUND_SLICE_NS;
    (void)syscall(SYS_sched_setattr, 0, &r, 0);
}

void background_init(background *b)
{
    pthread_condattr_t clock;
    (void)pthread_mutex_init(&b->lock, NULL);
    (void)pthread_condattr_init(&clock);
    (void)pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&b->changed, &clock);
    (void)pthread_condattr_destroy(&clock);
}

/* Memory is the caller's again where pieces are over, or left. */
static void abandon(const background *b)
{
    tutti_error error = TUTTI_ERROR_INIT;
    bool more = true;
    while (more && !b->work->wait(b->ctx, &more, &error))
        continue;
}

/* The next piece, or the end of those before it.  Without the lock, which is held before and behind it.  Pieces of a world
 * that is broken are over at once. */
static void go_on(background *b, const world_piece *one)
{
    tutti_error error = TUTTI_ERROR_INIT;
    uint64_t done = 0;
    const uint64_t taken = b->started - b->count;
    if (!b->error.status) {
        b->under_way = b->asks = one != NULL;
        (void)pthread_mutex_unlock(&b->lock);
        const tutti_status s = one ? b->work->begin(b->ctx, one, &done, &error)
                                   : b->work->flush(b->ctx, &done, &error);
        if (s)
            abandon(b);
        (void)pthread_mutex_lock(&b->lock);
        if (s) {
            b->under_way = b->asks = false;
            b->error = error;
        }
    }
    b->done = b->error.status ? taken : b->done + done;
    (void)pthread_cond_broadcast(&b->changed);
}

static struct timespec after_ns(int64_t ns)
{
    struct timespec until;
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    ns += until.tv_nsec;
    until.tv_sec += ns / 1000000000;
    until.tv_nsec = ns % 1000000000;
    return until;
}

static void pause_for_piece(background *b)
{
    const struct timespec until = after_ns(PAUSE_NS);
    (void)pthread_cond_timedwait(&b->changed, &b->lock, &until);
}

bool background_is_wanted(background *b, uint32_t ms)
{
    const struct timespec until = after_ns((int64_t)ms * 1000000);
    int late = 0;
    (void)pthread_mutex_lock(&b->lock);
    while (!b->count && !b->flush && !b->stop && !late)
        late = pthread_cond_timedwait(&b->changed, &b->lock, &until);
    const bool wanted = b->count || b->flush || b->stop;
    (void)pthread_mutex_unlock(&b->lock);
    return wanted;
}

/* What is over is noted in the pieces' order, later. */
static void ask(background *b)
{
    tutti_error error = TUTTI_ERROR_INIT;
    bool more = false;
    const uint64_t taken = b->started - b->count;
    (void)pthread_mutex_unlock(&b->lock);
    const tutti_status s = b->work->poll(b->ctx, &more, &error);
    (void)pthread_mutex_lock(&b->lock);
    b->asks = more && !s;
    if (b->asks && !b->flush && !b->count && !b->stop)
        pause_for_piece(b);
    if (!s)
        return;
    b->error = error;
    b->done = taken;
    (void)pthread_cond_broadcast(&b->changed);
}

static void *work(void *argument)
{
    background *b = argument;
    crash_thread_begin();
    ask_for_short_slices();
    (void)pthread_mutex_lock(&b->lock);
    while (!b->stop) {
        if (b->flush) {
            b->flush = false;
            go_on(b, NULL);
        } else if (b->count > 0) {
            const background_entry next = b->entries[b->first];
            b->first = (b->first + 1) % b->capacity;
            b->count--;
            b->flush = next.flush;
            go_on(b, &next.one);
        } else if (b->asks) {
            ask(b);
        } else {
            (void)pthread_cond_wait(&b->changed, &b->lock);
        }
    }
    (void)pthread_mutex_unlock(&b->lock);
    if (b->under_way)
        abandon(b);
    crash_thread_end();
    return NULL;
}

static tutti_status start_thread(background *b, const background_work *of, void *ctx,
                                 tutti_error *err)
{
    if (b->running)
        return TUTTI_OK;
    b->work = of; /* before the thread is there, which reads them without the lock */
    b->ctx = ctx;
    if (pthread_create(&b->thread, NULL, work, b) != 0)
        return tutti_fail(err, TUTTI_E_NOMEM, "cannot start the thread that sums gradients");
    b->running = true;
    return TUTTI_OK;
}

/* Called with the lock held. */
static tutti_status append(background *b, const world_piece *piece, tutti_error *err)
{
    if (b->count == b->capacity) {
        const uint32_t capacity = b->capacity ? 2 * b->capacity : 16;
        background_entry *entries = calloc(capacity, sizeof *entries);
        if (!entries)
            return tutti_fail(err, TUTTI_E_NOMEM, "no memory for sums of gradients");
        for (uint32_t k = 0; k < b->count; k++)
            entries[k] = b->entries[(b->first + k) % b->capacity];
        free(b->entries);
        b->entries = entries;
        b->capacity = capacity;
        b->first = 0;
    }
    b->entries[(b->first + b->count++) % b->capacity] = (background_entry){*piece, false};
    b->started++;
    return TUTTI_OK;
}

/* The thread waits with the end of a piece for the next one, unless it is told that the caller waits.  It is told at this
 * place of the pieces' order even where all are over: elsewhere they may not be, and all ranks do the same.  Called with
 * the lock held. */
static void ask_for_end(background *b)
{
    if (b->count > 0)
        b->entries[(b->first + b->count - 1) % b->capacity].flush = true;
    else
        b->flush = true;
    (void)pthread_cond_broadcast(&b->changed);
}

/* Until fewer than `most` pieces are there.  Called with the lock held. */
static void wait_for_room(background *b, uint32_t most)
{
    const int64_t began = monotonic_ns();
    while (b->started - b->done >= most)
        (void)pthread_cond_wait(&b->changed, &b->lock);
    b->waited_ns += monotonic_ns() - began;
}

tutti_status background_start(background *b, const background_work *of, void *ctx,
                              const world_piece *piece, tutti_error *err)
{
    tutti_status s = start_thread(b, of, ctx, err);
    if (s)
        return s;
    (void)pthread_mutex_lock(&b->lock);
    if (piece->most) {
        ask_for_end(b);
        wait_for_room(b, piece->most);
    }
    s = append(b, piece, err);
    (void)pthread_cond_broadcast(&b->changed);
    (void)pthread_mutex_unlock(&b->lock);
    return s;
}

void background_wait(background *b, uint64_t n)
{
    const int64_t began = monotonic_ns();
    if (!b->running)
        return;
    (void)pthread_mutex_lock(&b->lock);
    ask_for_end(b);
    while (b->done < n)
        (void)pthread_cond_wait(&b->changed, &b->lock);
    (void)pthread_mutex_unlock(&b->lock);
    b->waited_ns += monotonic_ns() - began;
}

void background_flush(background *b)
{
    if (!b->running)
        return;
    (void)pthread_mutex_lock(&b->lock);
    ask_for_end(b);
    (void)pthread_mutex_unlock(&b->lock);
}

bool background_is_over(background *b, uint64_t n)
{
    (void)pthread_mutex_lock(&b->lock);
    const bool over = b->done >= n;
    (void)pthread_mutex_unlock(&b->lock);
    return over;
}

void background_drain(background *b)
{
    const int64_t waited = b->waited_ns;
    background_wait(b, b->started);
    b->waited_ns = waited;
}

tutti_status background_finish(background *b, tutti_error *err)
{
    background_wait(b, b->started);
    return b->error.status ? tutti_fail(err, b->error.status, "%s", b->error.text) : TUTTI_OK;
}

bool background_stop(background *b)
{
    if (b->running) {
        (void)pthread_mutex_lock(&b->lock);
        b->stop = true;
        (void)pthread_cond_broadcast(&b->changed);
        (void)pthread_mutex_unlock(&b->lock);
        (void)pthread_join(b->thread, NULL);
        b->running = false;
    }
    return b->done < b->started;
}

void background_fini(background *b)
{
    (void)background_stop(b);
    free(b->entries);
    (void)pthread_cond_destroy(&b->changed);
    (void)pthread_mutex_destroy(&b->lock);
}
