/* write_behind.c - one piece of writing at a time, by a thread, while training goes on. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/step/write_behind.h"

#include "plugin/crash/crash.h"

static void *work(void *ctx)
{
    write_behind *b = ctx;
    crash_thread_begin();
    (void)b->write(b->what, &b->error);
    crash_thread_end();
    atomic_store(&b->ended, true);
    return NULL;
}

bool write_behind_start(write_behind *b, tutti_status (*write)(const void *, tutti_error *),
                        void (*drop)(void *), void *what)
{
    b->write = write;
    b->drop = drop;
    b->what = what;
    b->error = (tutti_error)TUTTI_ERROR_INIT;
    atomic_store(&b->ended, false);
    if (pthread_create(&b->thread, NULL, work, b) == 0)
        return true;
    b->what = NULL;
    return false;
}

tutti_status write_behind_join(write_behind *b, tutti_error *err)
{
    void *what = b->what;
    const bool whole = crash_breadcrumb.whole;
    if (!what)
        return TUTTI_OK;
    crash_breadcrumb.whole = true; /* a second signal leaves no thread half joined */
    (void)pthread_join(b->thread, NULL);
    b->what = NULL;
    crash_breadcrumb.whole = whole;
    b->drop(what);
    b->lost = b->lost || b->error.status;
    return b->error.status ? tutti_fail(err, b->error.status, "%s", b->error.text) : TUTTI_OK;
}

tutti_status write_behind_failed(write_behind *b, tutti_error *err)
{
    return b->what && atomic_load(&b->ended) && b->error.status ? write_behind_join(b, err)
                                                                : TUTTI_OK;
}

bool write_behind_is_whole(const write_behind *b)
{
    return !b->lost && (!b->what || (atomic_load(&b->ended) && !b->error.status));
}
