/* outbox.c - the queue and its thread. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "outbox.h"

#include "crc32c.h"
#include "spool.h"

#include <errno.h>
#include <inttypes.h>
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
    BATCH_BYTES = 65536,
    BATCH_RECORDS = 256,
    FIRST_WAIT_MS = 100,
    LONGEST_WAIT_MS = 30000,
    LONGEST_LAST_WAIT_MS = 1000, /* once the run is over */
    NOTES = 8
};

typedef struct note {
    int32_t level;
    char text[760];
} note;

/* The lock guards everything below it.  The order of records is: the file's, the memory's. */
struct outbox {
    outbox_config config;
    char path[SPOOL_PATH];
    pthread_t thread;
    bool runs;  /* the thread has been started; [step] */
    int end_fd; /* readable once must_end */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    spool spool;
    char *memory; /* whole frames in [first, last) */
    size_t first, last;
    uint64_t lost;    /* records that neither memory nor disk could hold */
    uint64_t refused; /* by the destination, for good */
    bool in_trouble;  /* it was said that the destination fails */
    bool disk_failed; /* it was said that the file cannot be written */
    bool is_last, must_end, has_ended, is_closed;
    int64_t deadline_ms; /* of the last sends, by now_ms */
    int64_t wait_ms;     /* before the next try */
    note notes[NOTES];
    uint32_t nnotes;
    /* the thread's own */
    char *batch;
    size_t batch_size;
    outbox_record records[BATCH_RECORDS];
};

static int64_t now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void outbox_lock(outbox *o)
{
    (void)pthread_mutex_lock(&o->lock);
}

static void outbox_unlock(outbox *o)
{
    (void)pthread_mutex_unlock(&o->lock);
}

/* Until `changed` or `until_ms`.  Locked. */
static void wait_until(outbox *o, int64_t until_ms)
{
    const struct timespec at = {until_ms / 1000, until_ms % 1000 * 1000000};
    (void)pthread_cond_timedwait(&o->changed, &o->lock, &at);
}

/* ---- sentences: the thread writes them down, whoever logs says them ---- */

TUTTI_PRINTF(3, 4)
static void add_note(outbox *o, int32_t level, const char *format, ...)
{
    va_list args;
    if (o->nnotes == NOTES)
        return;
    note *n = &o->notes[o->nnotes++];
    n->level = level;
    va_start(args, format);
    (void)__builtin_vsnprintf(n->text, sizeof n->text, format, args);
    va_end(args);
}

/* Not locked: the log may come back with a message. */
static void outbox_tell(outbox *o)
{
    note said[NOTES];
    outbox_lock(o);
    const uint32_t n = o->nnotes;
    memcpy(said, o->notes, n * sizeof *said);
    o->nnotes = 0;
    outbox_unlock(o);
    for (uint32_t k = 0; k < n && o->config.log; k++)
        o->config.log->write(o->config.log->ctx, said[k].level, said[k].text);
}

/* ---- the queue, locked ---- */

static bool is_empty(const outbox *o)
{
    return o->first == o->last && o->spool.head == o->spool.end;
}

static void note_disk(outbox *o, const tutti_error *why)
{
    if (!o->disk_failed)
        add_note(o, TUTTI_LOG_WARNING, "%s: %s; what memory does not hold is lost until it can",
                 o->config.who, why->text);
    o->disk_failed = true;
}

/* All of the memory goes to the file. */
static bool outbox_spill(outbox *o)
{
    tutti_error why = TUTTI_ERROR_INIT;
    if (o->first == o->last)
        return true;
    if (spool_add(&o->spool, o->memory + o->first, o->last - o->first, &why)) {
        note_disk(o, &why);
        return false;
    }
    o->disk_failed = false;
    o->first = o->last = 0;
    return true;
}

/* Room for `size` bytes behind the last record. */
static bool make_room(outbox *o, size_t size)
{
    if (o->first > 0) {
        memmove(o->memory, o->memory + o->first, o->last - o->first);
        o->last -= o->first;
        o->first = 0;
    }
    return o->last + size <= o->config.memory || (outbox_spill(o) && size <= o->config.memory);
}

static bool put_memory(outbox *o, const spool_frame *f, const char *data)
{
    const size_t size = sizeof *f + f->size;
    if (o->last + size > o->config.memory && !make_room(o, size))
        return false;
    memcpy(o->memory + o->last, f, sizeof *f);
    memcpy(o->memory + o->last + sizeof *f, data, f->size);
    o->last += size;
    return true;
}

/* A record that is larger than the memory. */
static bool put_file(outbox *o, const spool_frame *f, const char *data)
{
    tutti_error why = TUTTI_ERROR_INIT;
    const size_t size = sizeof *f + f->size;
    char *whole = size > o->config.memory && outbox_spill(o) ? malloc(size) : NULL;
    if (!whole)
        return false;
    memcpy(whole, f, sizeof *f);
    memcpy(whole + sizeof *f, data, f->size);
    const tutti_status s = spool_add(&o->spool, whole, size, &why);
    free(whole);
    if (s)
        note_disk(o, &why);
    return s == TUTTI_OK;
}

/* Copies a batch from the front to the thread's buffer: as many whole records as it holds, one at least.
 * Returns bytes; 0: it cannot be read. */
static size_t outbox_peek(outbox *o)
{
    spool_frame f = {0};
    const bool from_file = o->spool.head < o->spool.end;
    const size_t have = o->last - o->first;
    if (!from_file)
        memcpy(&f, o->memory + o->first, sizeof f);
    else if (spool_peek(&o->spool, &f, sizeof f) != sizeof f)
        return 0;
    const size_t one = sizeof f + f.size, want = one > BATCH_BYTES ? one : BATCH_BYTES;
    if (want > o->batch_size) {
        char *grown = realloc(o->batch, want);
        if (!grown)
            return 0;
        o->batch = grown;
        o->batch_size = want;
    }
    if (from_file)
        return spool_peek(&o->spool, o->batch, want);
    memcpy(o->batch, o->memory + o->first, have < want ? have : want);
    return have < want ? have : want;
}

/* The records in `size` bytes of the batch. */
static uint32_t outbox_parse(outbox *o, size_t size)
{
    uint32_t n = 0;
    spool_frame f;
    for (size_t at = 0; n < BATCH_RECORDS && at + sizeof f <= size; at += sizeof f + f.size) {
        memcpy(&f, o->batch + at, sizeof f);
        if (at + sizeof f + f.size > size)
            break;
        o->records[n++] = (outbox_record){o->batch + at + sizeof f, f.size};
    }
    return n;
}

/* The first n records leave the front, wherever they are by now. */
static void outbox_take(outbox *o, uint32_t n)
{
    size_t size = 0;
    for (uint32_t k = 0; k < n; k++)
        size += sizeof(spool_frame) + o->records[k].size;
    if (!size)
        return;
    if (o->spool.head < o->spool.end)
        spool_take(&o->spool, (int64_t)size);
    else
        o->first += size;
}

static uint64_t outbox_count(const outbox *o)
{
    uint64_t n = spool_count(o->memory + o->first, o->last - o->first);
    spool s = o->spool; /* a place of its own in the same file */
    for (spool_frame f; spool_peek(&s, &f, sizeof f) == sizeof f; n++)
        s.head += (int64_t)sizeof f + f.size;
    return n;
}

/* ---- the thread ---- */

static void note_refused(outbox *o, const tutti_error *why)
{
    if (!o->refused)
        add_note(o, TUTTI_LOG_WARNING, "%s; that record is left out", why->text);
    o->refused++;
}

static void note_trouble(outbox *o, const tutti_error *why)
{
    const int64_t most = o->is_last ? LONGEST_LAST_WAIT_MS : LONGEST_WAIT_MS;
    if (!o->in_trouble)
        add_note(o, TUTTI_LOG_WARNING, "%s; what is logged is kept and sent when it can be",
                 why->text);
    o->in_trouble = true;
    o->wait_ms = !o->wait_ms ? FIRST_WAIT_MS : 2 * o->wait_ms < most ? 2 * o->wait_ms : most;
}

static void note_success(outbox *o)
{
    if (o->in_trouble)
        add_note(o, TUTTI_LOG_INFO, "%s: can send again", o->config.who);
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
        s = o->config.send(o->config.ctx, o->records, n, &sent, &why);
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

static void *outbox_work(void *ctx)
{
    outbox *o = ctx;
    outbox_lock(o);
    while (!o->must_end && !(o->is_last && is_empty(o))) {
        if (is_empty(o)) {
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
        add_note(o, TUTTI_LOG_WARNING, "%s", why.text);
    o->has_ended = true;
    (void)pthread_cond_broadcast(&o->changed);
    outbox_unlock(o);
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
            add_note(o, TUTTI_LOG_WARNING, "%s: cannot start a thread: %s; it is tried again",
                     o->config.who, strerror(failed));
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
    free(o->batch);
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
        add_note(o, TUTTI_LOG_WARNING,
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
    const spool_frame f = {(uint32_t)size, crc32c_of(data, size)};
    outbox_lock(o);
    if (o->is_closed) {
        outbox_unlock(o);
        return;
    }
    const bool was_empty = is_empty(o);
    if (size > UINT32_MAX / 2 || (!put_memory(o, &f, data) && !put_file(o, &f, data)))
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
        note_disk(o, &why);
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
        add_note(o, TUTTI_LOG_WARNING, "%s: %" PRIu64 " records were refused and left out",
                 o->config.who, o->refused);
    const uint64_t left = outbox_count(o);
    const bool kept =
        !left || (outbox_spill(o) && !spool_sync(&o->spool, &why) && !o->spool.is_unnamed);
    if (left && kept)
        add_note(o, TUTTI_LOG_WARNING,
                 "%s: %" PRIu64 " records were not sent within %g s; they wait in %s for the "
                 "next run in its folder",
                 o->config.who, left, (double)o->config.limit_ms / 1000.0, o->path);
    o->lost += kept ? 0 : left;
    if (o->lost)
        add_note(o, TUTTI_LOG_WARNING, "%s: %" PRIu64 " records are lost", o->config.who,
                 o->lost);
}

void outbox_destroy(outbox *o)
{
    if (!o)
        return;
    if (!o->runs && !is_empty(o))
        outbox_start(o);
    if (o->runs)
        end_thread(o);
    keep_rest(o);
    o->is_closed = true; /* what is told now has nowhere to go here */
    outbox_tell(o);
    spool_close(&o->spool);
    free_outbox(o);
}
