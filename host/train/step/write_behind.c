/* write_behind.c - one piece of writing at a time, by a thread, while training goes on. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/step/write_behind.h"

#include "plugin/crash/crash.h"

enum { WRITES = 1, FINISHES = 2 }; /* what the thread does of a job */

static void *work(void *ctx)
{
    write_behind *b = ctx;
    tutti_status s = TUTTI_OK;
    crash_thread_begin();
    if (b->steps & WRITES)
        s = b->job.write(b->job.what, &b->error);
    if (!s && b->steps & FINISHES)
        (void)b->job.finish(b->job.what, &b->error);
    crash_thread_end();
    atomic_store(&b->ended, true);
    return NULL;
}

static tutti_status run(write_behind *b, unsigned steps, tutti_error *err)
{
    b->steps = steps;
    b->error = (tutti_error)TUTTI_ERROR_INIT;
    atomic_store(&b->ended, false);
    b->running = pthread_create(&b->thread, NULL, work, b) == 0;
    return b->running ? TUTTI_OK
                      : tutti_fail(err, TUTTI_E_NOMEM,
                                   "cannot start the thread that writes checkpoints");
}

tutti_status write_behind_start(write_behind *b, const write_behind_job *job, bool together,
                                tutti_error *err)
{
    b->job = *job;
    b->together = together;
    const tutti_status s = run(b, together ? WRITES : WRITES | FINISHES, err);
    if (s) {
        b->job.what = NULL;
        b->together = false;
    }
    return s;
}

void write_behind_drop(write_behind *b)
{
    if (b->job.what)
        b->job.drop(b->job.what);
    b->lost = b->lost || b->together; /* another rank's part could not be written */
    b->job.what = NULL;
    b->together = false;
}

tutti_status write_behind_join(write_behind *b, tutti_error *err)
{
    const bool whole = crash_breadcrumb.whole;
    if (!b->running)
        return TUTTI_OK;
    crash_breadcrumb.whole = true; /* a second signal leaves no thread half joined */
    (void)pthread_join(b->thread, NULL);
    b->running = false;
    crash_breadcrumb.whole = whole;
    b->lost = b->lost || b->error.status;
    if (!b->together)
        write_behind_drop(b);
    return b->error.status ? tutti_fail(err, b->error.status, "%s", b->error.text) : TUTTI_OK;
}

bool write_behind_is_written(const write_behind *b)
{
    return b->together && atomic_load(&b->ended) && !b->error.status;
}

tutti_status write_behind_go_on(write_behind *b, tutti_error *err)
{
    const tutti_status s = write_behind_join(b, err);
    b->together = false;
    return s ? s : run(b, FINISHES, err);
}

tutti_status write_behind_finish(write_behind *b, tutti_error *err)
{
    const tutti_status s = b->job.what ? b->job.finish(b->job.what, err) : TUTTI_OK;
    b->lost = b->lost || s;
    b->together = false;
    return s;
}

tutti_status write_behind_failed(write_behind *b, tutti_error *err)
{
    return b->running && atomic_load(&b->ended) && b->error.status ? write_behind_join(b, err)
                                                                   : TUTTI_OK;
}

bool write_behind_is_whole(const write_behind *b)
{
    return !b->lost && !b->together &&
           (!b->running || (atomic_load(&b->ended) && !b->error.status));
}
