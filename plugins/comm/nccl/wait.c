/* wait.c - waiting for NCCL with a limit, and giving its work up when it fails. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "nccl_comm.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

/* One that waits: pauses grow, so that ranks which share a processor get on. */
typedef struct patience {
    int64_t began_ms;
    uint32_t looks;
} patience;

enum { SPINS = 100, MOST_PAUSE_NS = 200000 };

static int64_t clock_ms(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* False once the time is over. */
static int wait_more(const nccl *n, patience *p)
{
    if (n->timeout_ms && clock_ms() - p->began_ms > n->timeout_ms)
        return 0;
    if (p->looks++ >= SPINS) {
        const struct timespec pause = {0, MOST_PAUSE_NS};
        (void)nanosleep(&pause, NULL);
    }
    return 1;
}

tutti_status nccl_check(const nccl *n, tutti_error *err)
{
    if (n->why.status)
        return tutti_fail(err, n->why.status, "%s", n->why.text);
    return n->comm ? TUTTI_OK : tutti_fail(err, TUTTI_E_STATE, "nccl: has not joined");
}

tutti_status nccl_give_up(nccl *n, tutti_status status, tutti_error *err, const char *format,
                          ...)
{
    va_list args;
    n->why = (tutti_error)TUTTI_ERROR_INIT;
    n->why.status = status;
    va_start(args, format);
    (void)vsnprintf(n->why.text, sizeof n->why.text, format, args);
    va_end(args);
    if (n->comm)
        (void)n->api.ncclCommAbort(n->comm); /* frees it too */
    n->comm = NULL;
    return tutti_fail(err, status, "%s", n->why.text);
}

static tutti_status fail_call(nccl *n, const char *what, unsigned int code, tutti_error *err)
{
    const char *more = n->comm ? n->api.ncclGetLastError(n->comm) : NULL;
    char text[200];
    (void)snprintf(text, sizeof text, "%s", more ? more : "");
    return nccl_give_up(n, TUTTI_E_STATE, err,
                        "nccl: %s: %s%s%s; this rank is at step %llu, %s", what,
                        n->api.ncclGetErrorString(code), *text ? ": " : "", text,
                        (unsigned long long)n->progress.step, n->progress.phase);
}

tutti_status nccl_settle(nccl *n, const char *what, unsigned int code, tutti_error *err)
{
    patience p = {clock_ms(), 0};
    while (code == NCCL_IN_PROGRESS && n->comm) {
        const unsigned int asked = n->api.ncclCommGetAsyncError(n->comm, &code);
        code = asked ? asked : code;
        if (code == NCCL_IN_PROGRESS && !wait_more(n, &p))
            return nccl_give_up(n, TUTTI_E_STATE, err,
                                "nccl: %s: not all ranks have come in %g s; this one is at "
                                "step %llu, %s",
                                what, n->timeout_ms * 1e-3,
                                (unsigned long long)n->progress.step, n->progress.phase);
    }
    return code ? fail_call(n, what, code, err) : TUTTI_OK;
}

/* The device itself has failed, such as by a kernel. */
static tutti_status fail_device(nccl *n, const nccl_request *r, tutti_error *err)
{
    tutti_error e = TUTTI_ERROR_INIT;
    const tutti_status s = n->table->synchronise(n->device, n->stream, &e);
    return nccl_give_up(n, TUTTI_E_STATE, err, "nccl: %s of step %llu, %s: %.300s", r->what,
                        (unsigned long long)r->step, r->phase,
                        s ? e.text : "the device's work has failed");
}

static tutti_status finish_one(nccl *n, const nccl_request *r, patience *p, tutti_error *err)
{
    for (;;) {
        unsigned int code = NCCL_SUCCESS;
        const int32_t done = n->table->event_done(n->device, r->done);
        if (done > 0)
            return TUTTI_OK;
        if (done < 0)
            return fail_device(n, r, err);
        const unsigned int asked = n->api.ncclCommGetAsyncError(n->comm, &code);
        code = asked ? asked : code;
        if (code && code != NCCL_IN_PROGRESS)
            return fail_call(n, r->what, code, err);
        if (!wait_more(n, p))
            return nccl_give_up(n, TUTTI_E_STATE, err,
                                "nccl: %s of step %llu, %s, has not ended in %g s: a rank does "
                                "not take part, or nothing moves between two of them",
                                r->what, (unsigned long long)r->step, r->phase,
                                n->timeout_ms * 1e-3);
    }
}

tutti_status nccl_finish(void *self, tutti_error *err)
{
    nccl *n = self;
    patience p = {clock_ms(), 0};
    tutti_status s = nccl_check(n, err);
    for (uint32_t k = 0; k < n->count && !s; k++)
        s = finish_one(n, &n->requests[k], &p, err);
    n->count = 0;
    return s;
}
