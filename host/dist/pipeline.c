/* pipeline.c - buckets in a pipeline: one is scattered while the sums of the one before it are gathered. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "dist/world_internal.h"

#include <stdio.h>

/* Over a network an operation begins with a question and its answer, each of which waits until a thread that shares its
 * processor runs; bytes of another operation fill that time.  The order of operations is that of pieces and of the places
 * where the caller waits, never that in which they are done: scatter 0, scatter 1, gather 0, scatter 2, gather 1 ... */

static bucket *at(world *w, uint64_t k)
{
    return &w->pipeline.buckets[k % PIPELINE_BUCKETS];
}

static tutti_status reduce_next(world *w, tutti_error *err)
{
    return bucket_reduce(at(w, w->pipeline.reduced++), err);
}

static tutti_status finish_next(world *w, uint64_t *done, tutti_error *err)
{
    const tutti_status s = bucket_finish(at(w, w->pipeline.gathered++), err);
    *done += !s;
    return s;
}

static tutti_status flush(void *ctx, uint64_t *done, tutti_error *err)
{
    world *w = ctx;
    const pipeline *p = &w->pipeline;
    tutti_status s = TUTTI_OK;
    while (!s && p->reduced < p->scattered)
        s = reduce_next(w, err);
    while (!s && p->gathered < p->reduced)
        s = finish_next(w, done, err);
    return s;
}

static void tell_bucket(world *w, bool gathers)
{
    char phase[48];
    (void)snprintf(phase, sizeof phase, "%s, bucket %llu",
                   gathers ? "gathering weights" : "summing gradients",
                   (unsigned long long)++w->buckets[gathers]);
    world_tell_phase(w, phase);
}

/* An operation, or a sum whose memory is wanted back, that is over before another one begins. */
static tutti_status run_alone(world *w, const world_piece *one, tutti_error *err)
{
    if (one->told)
        return world_tell_all(w, one->told, one->all, one->bytes, err);
    tell_bucket(w, one->gathers);
    if (one->gathers)
        return world_gather_piece(w, one->result + one->at, one->n, sizeof(float), err);
    tutti_status s = bucket_scatter(&w->alone, w, one, err);
    if (!s)
        s = bucket_reduce(&w->alone, err);
    return s ? s : bucket_finish(&w->alone, err);
}

static tutti_status begin(void *ctx, const world_piece *one, uint64_t *done, tutti_error *err)
{
    world *w = ctx;
    pipeline *p = &w->pipeline;
    tutti_status s;
    w->counts.records += one->told != NULL;
    w->counts.gathers += one->gathers;
    w->counts.sums += !one->told && !one->gathers;
    if (one->told || one->gathers || one->most) {
        if ((s = flush(w, done, err)) || (s = run_alone(w, one, err)))
            return s;
        ++*done;
        return TUTTI_OK;
    }
    tell_bucket(w, false);
    s = bucket_scatter(at(w, p->scattered), w, one, err);
    p->scattered += !s;
    if (!s && p->reduced + 1 < p->scattered)
        s = reduce_next(w, err);
    if (!s && p->gathered + 1 < p->reduced)
        s = finish_next(w, done, err);
    return s;
}

static void abandon(void *ctx)
{
    world *w = ctx;
    tutti_error error = TUTTI_ERROR_INIT;
    for (uint64_t k = w->pipeline.gathered; k < w->pipeline.scattered; k++)
        if (bucket_wait(at(w, k), &error))
            return;
}

const background_work pipeline_work = {.begin = begin, .flush = flush, .abandon = abandon};

void pipeline_fini(pipeline *p)
{
    for (int k = 0; k < PIPELINE_BUCKETS; k++)
        bucket_fini(&p->buckets[k]);
}
