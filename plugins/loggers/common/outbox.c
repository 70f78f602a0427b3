/* outbox.c - the thread that sends what waits, and the life of an outbox. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "outbox_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

enum {
    FIRST_WAIT_MS = 100,
    LONGEST_WAIT_MS = 30000,
    LONGEST_LAST_WAIT_MS = 1000 /* once the run is over */
};

static int64_t now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Until `changed` or `until_ms`.  Locked. */
static void wait_until(outbox *o, int64_t until_ms)
{
    const struct timespec at = {until_ms / 1000, until_ms % 1000 * 1000000};
    (void)pthread_cond_timedwait(&o->changed, &o->lock, &at);
}

/* ---- the thread ---- */

static void note_refused(outbox *o, const tutti_error *why)
{
    if (!o->refused)
        outbox_note(o, TUTTI_LOG_WARNING, "%s; that record is left out", why->text);
    o->refused++;
}

static void note_trouble(outbox *o, const tutti_error *why)
{
    const int64_t most = o->is_last ? LONGEST_LAST_WAIT_MS : LONGEST_WAIT_MS;
    if (!o->in_trouble)
        outbox_note(o, TUTTI_LOG_WARNING, "%s; %s is kept and sent when it can be", why->text,
                    o->config.what ? o->config.what : "what is logged");
    o->in_trouble = true;
    o->wait_ms = !o->wait_ms ? FIRST_WAIT_MS : 2 * o->wait_ms < most ? 2 * o->wait_ms : most;
}

static void note_success(outbox *o)
{
    if (o->in_trouble)
        outbox_note(o, TUTTI_LOG_INFO, "%s: can send again", o->config.who);
    o->in_trouble = false;
}

/* Sends from the front.  Locked; not while it sends. */
static void send_batch(outbox *o)
{
    tutti_error why = TUTTI_ERROR_INIT;
    const uint32_t n = outbox_parse(o, outbox_peek(o));
    uint32_t sent = 0;
    tutti_status s = TUTTI_E_IO;
    if (n) {
        outbox_unlock(o);
        s = o->config.send(o->config.ctx, o->batch.records, n, &sent, &why);
        outbox_lock(o);
    } else
        (void)tutti_fail(&why, s, "%s: cannot read %s, or no memory", o->config.who, o->path);
    sent = sent > n ? n : sent;
    if (s == TUTTI_E_ARG && sent < n) {
        note_refused(o, &why);
        sent++;
        s = TUTTI_OK;
    }
    outbox_take(o, sent);
    if (sent)
        o->wait_ms = 0;
    if (s)
        note_trouble(o, &why);
    else
        note_success(o);
}

/* Before the next try; shorter once the run is over.  Locked. */
static void pause_sending(outbox *o)
{
    const bool was_last = o->is_last;
    const int64_t until = now_ms() + o->wait_ms;
    while (!o->must_end && now_ms() < until && o->is_last == was_last)
        wait_until(o, until);
    if (o->is_last != was_last)
        o->wait_ms = 0;
}

/* Numbers have points whatever locale anybody sets for the process. */
static locale_t keep_locale(void)
{
    const locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (plain)
        (void)uselocale(plain);
    return plain;
}

static void *outbox_work(void *ctx)
{
    outbox *o = ctx;
    const locale_t plain = keep_locale();
    outbox_lock(o);
    while (!o->must_end && !(o->is_last && outbox_is_empty(o))) {
        if (outbox_is_empty(o)) {
            (void)pthread_cond_wait(&o->changed, &o->lock);
            continue;
        }
        if (o->wait_ms)
            pause_sending(o);
        if (!o->must_end)
            send_batch(o);
    }
    outbox_unlock(o);
    tutti_error why = TUTTI_ERROR_INIT;
    const tutti_status s = o->config.finish ? o->config.finish(o->config.ctx, &why) : TUTTI_OK;
    outbox_lock(o);
    if (s)
        outbox_note(o, TUTTI_LOG_WARNING, "%s", why.text);
    o->has_ended = true;
    (void)pthread_cond_broadcast(&o->changed);
    outbox_unlock(o);
    (void)uselocale(LC_GLOBAL_LOCALE);
    if (plain)
        freelocale(plain);
    return NULL;
}

/* Signals are for the threads of the host. */
static void outbox_start(outbox *o)
{
    sigset_t all;
    pthread_attr_t attr;
    if (o->runs || pthread_attr_init(&attr) != 0)
        return;
    (void)sigfillset(&all);
    int failed = pthread_attr_setsigmask_np(&attr, &all);
    if (!failed)
        failed = pthread_create(&o->thread, &attr, outbox_work, o);
    (void)pthread_attr_destroy(&attr);
    o->runs = !failed;
    if (failed) {
        outbox_lock(o);
        if (!o->in_trouble)
            outbox_note(o, TUTTI_LOG_WARNING,
                        "%s: cannot start a thread: %s; it is tried again", o->config.who,
                        strerror(failed));
        o->in_trouble = true;
        outbox_unlock(o);
    }
}

bool outbox_must_end(outbox *o)
{
    outbox_lock(o);
    const bool must = o->must_end;
    outbox_unlock(o);
    return must;
}

bool outbox_is_last(outbox *o)
{
    outbox_lock(o);
    const bool last = o->is_last;
    outbox_unlock(o);
    return last;
}

int64_t outbox_time_left(outbox *o)
{
    outbox_lock(o);
    const int64_t left = o->is_last ? o->deadline_ms - now_ms() : -1;
    const bool last = o->is_last;
    outbox_unlock(o);
    return last && left < 0 ? 0 : left;
}

int outbox_end_fd(const outbox *o)
{
    return o->end_fd;
}

bool outbox_wait(outbox *o, int64_t ms)
{
    const int64_t until = now_ms() + ms;
    outbox_lock(o);
    while (!o->must_end && now_ms() < until)
        wait_until(o, until);
    const bool goes_on = !o->must_end;
    outbox_unlock(o);
    return goes_on;
}

/* ---- for the logger ---- */

static void free_outbox(outbox *o)
{
    if (o->end_fd >= 0)
        (void)close(o->end_fd);
    (void)pthread_cond_destroy(&o->changed);
    (void)pthread_mutex_destroy(&o->lock);
    free(o->batch.bytes);
    free(o->memory);
    free(o);
}

tutti_status outbox_create(const outbox_config *config, outbox **ret_outbox, tutti_error *err)
{
    pthread_condattr_t attr;
    outbox *o = calloc(1, sizeof *o);
    if (!o)
        return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory", config->who);
    o->config = *config;
    o->spool.fd = -1;
    (void)pthread_mutex_init(&o->lock, NULL);
    (void)pthread_condattr_init(&attr);
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&o->changed, &attr);
    (void)pthread_condattr_destroy(&attr);
    o->end_fd = eventfd(0, EFD_CLOEXEC);
    o->memory = malloc(config->memory);
    const int n = snprintf(o->path, sizeof o->path, "%s", config->path);
    tutti_status s = TUTTI_OK;
    if (!o->memory)
        s = tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory", config->who);
    else if (o->end_fd < 0)
        s = tutti_fail(err, TUTTI_E_IO, "%s: no eventfd: %s", config->who, strerror(errno));
    else if (n < 0 || (size_t)n >= sizeof o->path)
        s = tutti_fail(err, TUTTI_E_RANGE, "%s: %s is longer than %zu characters", config->who,
                       config->path, sizeof o->path - 1);
    if (s) {
        free_outbox(o);
        return s;
    }
    *ret_outbox = o;
    return TUTTI_OK;
}

static tutti_status open_spool(outbox *o, tutti_error *err)
{
    tutti_error why = TUTTI_ERROR_INIT;
    outbox_lock(o);
    spool_close(&o->spool);
    const tutti_status s = spool_open(&o->spool, o->path, &why);
    if (!s && o->spool.damaged)
        outbox_note(o, TUTTI_LOG_WARNING,
                    "%s: the last %" PRId64 " bytes of %s are no whole record and are left out",
                    o->config.who, o->spool.damaged, o->path);
    outbox_unlock(o);
    return s ? tutti_fail(err, s, "%s: %s", o->config.who, why.text) : TUTTI_OK;
}

tutti_status outbox_event(outbox *o, const tutti_event *event, tutti_error *err)
{
    tutti_status s = TUTTI_OK;
    if (event->id == TUTTI_EVENT_INIT)
        s = open_spool(o, err);
    else
        outbox_start(o);
    outbox_tell(o);
    return s;
}

void outbox_put(outbox *o, const char *data, size_t size)
{
    outbox_lock(o);
    if (o->is_closed) {
        outbox_unlock(o);
        return;
    }
    const bool was_empty = outbox_is_empty(o);
    if (!outbox_append(o, data, size))
        o->lost++;
    if (was_empty)
        (void)pthread_cond_broadcast(&o->changed);
    outbox_unlock(o);
    outbox_tell(o);
}

void outbox_sync(outbox *o)
{
    tutti_error why = TUTTI_ERROR_INIT;
    outbox_lock(o);
    if (outbox_spill(o) && spool_sync(&o->spool, &why))
        outbox_note_disk(o, &why);
    outbox_unlock(o);
    outbox_tell(o);
}

tutti_status outbox_begin_again(outbox *o, tutti_error *err)
{
    tutti_error why = TUTTI_ERROR_INIT;
    outbox_lock(o);
    const tutti_status s = o->runs ? TUTTI_OK : spool_set_aside(&o->spool, &why);
    outbox_unlock(o);
    return s ? tutti_fail(err, s, "%s: %s", o->config.who, why.text) : TUTTI_OK;
}

/* Lets the thread send what is left; ends it after the limit. */
static void end_thread(outbox *o)
{
    const uint64_t one = 1;
    outbox_lock(o);
    o->is_last = true;
    o->deadline_ms = now_ms() + o->config.limit_ms;
    (void)pthread_cond_broadcast(&o->changed);
    while (!o->has_ended && now_ms() < o->deadline_ms)
        wait_until(o, o->deadline_ms);
    o->must_end = true;
    (void)pthread_cond_broadcast(&o->changed);
    outbox_unlock(o);
    (void)!write(o->end_fd, &one, sizeof one);
    (void)pthread_join(o->thread, NULL);
}

/* What could not be sent; the thread has ended. */
static void keep_rest(outbox *o)
{
    tutti_error why = TUTTI_ERROR_INIT;
    if (o->refused > 1)
        outbox_note(o, TUTTI_LOG_WARNING, "%s: %" PRIu64 " records were refused and left out",
                    o->config.who, o->refused);
    const uint64_t left = outbox_count(o);
    const bool kept =
        !left || (outbox_spill(o) && !spool_sync(&o->spool, &why) && !o->spool.is_unnamed);
    if (left && kept)
        outbox_note(o, TUTTI_LOG_WARNING,
                    "%s: %" PRIu64
                    " records were not sent within %g s; they wait in %s for the "
                    "next run in its folder",
                    o->config.who, left, (double)o->config.limit_ms / 1000.0, o->path);
    o->lost += kept ? 0 : left;
    if (o->lost)
        outbox_note(o, TUTTI_LOG_WARNING, "%s: %" PRIu64 " records are lost", o->config.who,
                    o->lost);
}

void outbox_destroy(outbox *o)
{
    if (!o)
        return;
    if (!o->runs && !outbox_is_empty(o))
        outbox_start(o);
    if (o->runs)
        end_thread(o);
    keep_rest(o);
    o->is_closed = true; /* what is told now has nowhere to go here */
    outbox_tell(o);
    spool_close(&o->spool);
    free_outbox(o);
}
