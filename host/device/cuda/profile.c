/* profile.c - the time of each launch between two events, for TUTTI_CUDA_PROFILE. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/monotonic.h"
#include "device/cuda/device_calls.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAIRS = 2048, HOLD_MOST_MS = 50 };

/* Of all launches of one name. */
typedef struct total {
    double ms;
    uint64_t count;
} total;

struct cuda_profile {
    char *path;
    struct CUevent_st *from[PAIRS], *to[PAIRS];
    uint32_t mark[PAIRS];
    uint32_t used; /* pairs that were recorded and not looked at */
    total *totals; /* by mark */
    uint32_t size;
    uint64_t skip; /* steps that are still left out */
    bool holds;    /* the stream stands still until `released` */
    atomic_bool
        released; /* so that a step is enqueued before it begins, and its launches have no gaps */
};

/* Who waits for the stream in the middle of a step waits for this: it has an end. */
static void hold(void *data)
{
    cuda_profile *p = data;
    const double end = monotonic_s() + 1e-3 * HOLD_MOST_MS;
    while (!atomic_load(&p->released) && monotonic_s() < end)
        (void)sched_yield();
}

tutti_status cuda_profile_open(cuda_device *d, tutti_error *err)
{
    const char *path = getenv("TUTTI_CUDA_PROFILE");
    if (!path || !*path)
        return TUTTI_OK;
    cuda_profile *p = d->profile = calloc(1, sizeof *p);
    if (!p || !(p->path = strdup(path)))
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for a profile of launches");
    const char *after = getenv("TUTTI_CUDA_PROFILE_AFTER");
    p->skip = after ? strtoull(after, NULL, 10) : 0;
    atomic_init(&p->released, true);
    for (int k = 0; k < PAIRS; k++) {
        tutti_status s =
            cuda_check(d, d->rt->cudaEventCreateWithFlags(&p->from[k], 0), "an event", err);
        if (!s)
            s = cuda_check(d, d->rt->cudaEventCreateWithFlags(&p->to[k], 0), "an event", err);
        if (s)
            return s;
    }
    return TUTTI_OK;
}

static bool has_total(cuda_profile *p, uint32_t mark)
{
    if (mark < p->size)
        return true;
    const uint32_t size = 2 * mark + 64;
    total *more = realloc(p->totals, size * sizeof *more);
    if (!more)
        return false;
    memset(more + p->size, 0, (size - p->size) * sizeof *more);
    p->totals = more;
    p->size = size;
    return true;
}

void cuda_profile_release(cuda_device *d)
{
    if (!d->profile)
        return;
    atomic_store(&d->profile->released, true);
    d->profile->holds = false;
}

/* Waits for all that was recorded. */
static void collect(cuda_device *d)
{
    cuda_profile *p = d->profile;
    cuda_profile_release(d);
    for (uint32_t k = 0; k < p->used; k++) {
        float ms = 0.0f;
        if (d->rt->cudaEventSynchronize(p->to[k]) ||
            d->rt->cudaEventElapsedTime(&ms, p->from[k], p->to[k]) || !has_total(p, p->mark[k]))
            continue;
        p->totals[p->mark[k]].ms += (double)ms;
        p->totals[p->mark[k]].count++;
    }
    p->used = 0;
}

bool cuda_profile_begin(cuda_device *d, stream *s, uint32_t mark)
{
    cuda_profile *p = d->profile;
    if (!p || p->skip || d->capture.active)
        return false;
    if (p->used == PAIRS)
        collect(d);
    if (!p->holds) {
        atomic_store(&p->released, false);
        p->holds = !d->rt->cudaLaunchHostFunc(s, hold, p);
    }
    p->mark[p->used] = mark;
    return !d->rt->cudaEventRecord(p->from[p->used], s);
}

void cuda_profile_end(cuda_device *d, stream *s)
{
    if (!d->rt->cudaEventRecord(d->profile->to[d->profile->used], s))
        d->profile->used++;
}

void cuda_profile_step(cuda_device *d)
{
    if (d->profile && d->profile->skip)
        d->profile->skip--;
}

/* "12.3456<tab>40<tab>layer1.act: gelu": milliseconds, launches, name. */
static void write_totals(const cuda_device *d)
{
    const cuda_profile *p = d->profile;
    FILE *file = fopen(p->path, "we");
    for (uint32_t k = 0; file && k < p->size; k++)
        if (p->totals[k].count)
            (void)fprintf(file, "%.6f\t%llu\t%s\n", p->totals[k].ms,
                          (unsigned long long)p->totals[k].count,
                          names_text(&d->history.names, k));
    if (file)
        (void)fclose(file);
}

void cuda_profile_close(cuda_device *d)
{
    cuda_profile *p = d->profile;
    if (!p)
        return;
    collect(d);
    if (p->path)
        write_totals(d);
    for (int k = 0; k < PAIRS; k++) {
        if (p->from[k])
            (void)d->rt->cudaEventDestroy(p->from[k]);
        if (p->to[k])
            (void)d->rt->cudaEventDestroy(p->to[k]);
    }
    free(p->totals);
    free(p->path);
    free(p);
    d->profile = NULL;
}
