/* background.c - sums of gradients beside the computation: one thread that talks to the other ranks meanwhile. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "dist/world_internal.h"

#include "base/monotonic.h"

#include <stdlib.h>
#include <string.h>

/* An engine such as MPI moves bytes only while it is called.  The thread is in a call as long as there is anything to
 * move; nobody else calls the engine then: what blocks waits for the thread first. */

void background_init(background *b)
{
    (void)pthread_mutex_init(&b->lock, NULL);
    (void)pthread_cond_init(&b->changed, NULL);
}

static void *work(void *argument)
{
    background *b = argument;
    crash_thread_begin();
    (void)pthread_mutex_lock(&b->lock);
    for (;;) {
        while (!b->stop && b->count == 0)
            (void)pthread_cond_wait(&b->changed, &b->lock);
        if (b->stop)
            break;
        const world_piece one = b->pieces[b->first];
        tutti_error error = TUTTI_ERROR_INIT;
        const bool broken = b->error.status != TUTTI_OK;
        (void)pthread_mutex_unlock(&b->lock);
        const tutti_status s = broken ? TUTTI_OK : b->run(b->ctx, &one, &error);
        (void)pthread_mutex_lock(&b->lock);
        if (s)
            b->error = error;
        b->first = (b->first + 1) % b->capacity;
        b->count--;
        b->done++;
        (void)pthread_cond_broadcast(&b->changed);
    }
    (void)pthread_mutex_unlock(&b->lock);
    crash_thread_end();
    return NULL;
}

static tutti_status start_thread(background *b, background_run *run, void *ctx,
                                 tutti_error *err)
{
    if (b->running)
        return TUTTI_OK;
    b->run = run; /* before the thread is there, which reads them without the lock */
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
        world_piece *pieces = calloc(capacity, sizeof *pieces);
        if (!pieces)
            return tutti_fail(err, TUTTI_E_NOMEM, "no memory for sums of gradients");
        for (uint32_t k = 0; k < b->count; k++)
            pieces[k] = b->pieces[(b->first + k) % b->capacity];
        free(b->pieces);
        b->pieces = pieces;
        b->capacity = capacity;
        b->first = 0;
    }
    b->pieces[(b->first + b->count++) % b->capacity] = *piece;
    return TUTTI_OK;
}

/* Until fewer than `most` pieces are there.  Called with the lock held. */
static void wait_for_room(background *b, uint32_t most)
{
    const int64_t began = monotonic_ns();
    while (b->count >= most)
        (void)pthread_cond_wait(&b->changed, &b->lock);
    b->waited_ns += monotonic_ns() - began;
}

tutti_status background_start(background *b, background_run *run, void *ctx,
                              const world_piece *piece, tutti_error *err)
{
    tutti_status s = start_thread(b, run, ctx, err);
    if (s)
        return s;
    (void)pthread_mutex_lock(&b->lock);
    if (piece->most)
        wait_for_room(b, piece->most);
    s = append(b, piece, err);
    b->started += !s;
    (void)pthread_cond_broadcast(&b->changed);
    (void)pthread_mutex_unlock(&b->lock);
    return s;
}

void background_drain(background *b)
{
    if (!b->running)
        return;
    (void)pthread_mutex_lock(&b->lock);
    while (b->count > 0)
        (void)pthread_cond_wait(&b->changed, &b->lock);
    (void)pthread_mutex_unlock(&b->lock);
}

void background_wait(background *b, uint64_t n)
{
    const int64_t began = monotonic_ns();
    if (!b->running)
        return;
    (void)pthread_mutex_lock(&b->lock);
    while (b->done < n)
        (void)pthread_cond_wait(&b->changed, &b->lock);
    (void)pthread_mutex_unlock(&b->lock);
    b->waited_ns += monotonic_ns() - began;
}

tutti_status background_finish(background *b, tutti_error *err)
{
    const int64_t began = monotonic_ns();
    background_drain(b);
    b->waited_ns += monotonic_ns() - began;
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
    return b->count > 0;
}

void background_fini(background *b)
{
    (void)background_stop(b);
    free(b->pieces);
    (void)pthread_cond_destroy(&b->changed);
    (void)pthread_mutex_destroy(&b->lock);
}
