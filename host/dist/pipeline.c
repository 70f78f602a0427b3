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

static void tell(world *w, const char *what, uint64_t number)
{
    char phase[48];
    (void)snprintf(phase, sizeof phase, "%s, bucket %llu", what, (unsigned long long)number);
    world_tell_phase(w, phase);
}

/* For others to read while this rank waits for the bucket. */
static void tell_bucket(world *w, const bucket *b)
{
    tell(w, "summing gradients", b->number);
}

static tutti_status scatter_next(world *w, const world_piece *one, tutti_error *err)
{
    bucket *b = at(w, w->pipeline.scattered);
    b->number = ++w->buckets[0];
    tell_bucket(w, b);
    const tutti_status s = bucket_scatter(b, w, one, err);
    w->pipeline.scattered += !s;
    return s;
}

static tutti_status reduce_next(world *w, tutti_error *err)
{
    bucket *b = at(w, w->pipeline.reduced++);
    tell_bucket(w, b);
    return bucket_reduce(b, err);
}

static tutti_status finish_next(world *w, uint64_t *done, tutti_error *err)
{
    bucket *b = at(w, w->pipeline.gathered++);
    tell_bucket(w, b);
    const tutti_status s = bucket_finish(b, err);
    *done += !s;
    return s;
}

static tutti_status flush(void *ctx, uint64_t *done, tutti_error *err)
{
    world *w = ctx;
    pipeline *p = &w->pipeline;
    tutti_status s = TUTTI_OK;
    while (!s && p->reduced < p->scattered)
        s = reduce_next(w, err);
    while (!s && p->gathered < p->reduced)
        s = finish_next(w, done, err);
    if (!s)
        p->scattered = p->reduced = p->gathered = 0; /* few buckets take the memory of few */
    return s;
}

/* An operation, or a sum whose memory is wanted back, that is over before another one begins. */
static tutti_status run_alone(world *w, const world_piece *one, tutti_error *err)
{
    if (one->told)
        return world_tell_all(w, one->told, one->all, one->bytes, err);
    if (one->heard)
        return world_watch(w, one->heard, err);
    if (one->phase[0]) {
        world_begin_phase(w, one);
        return TUTTI_OK;
    }
    tell(w, one->gathers ? "gathering weights" : "summing gradients",
         ++w->buckets[one->gathers]);
    if (one->gathers)
        return world_gather_piece(w, one->result + one->at, one->n, sizeof(float), err);
    tutti_status s = bucket_scatter(&w->alone, w, one, err);
    if (!s)
        s = bucket_reduce(&w->alone, err);
    return s ? s : bucket_finish(&w->alone, err);
}

/* A comm of ABI 1.0 may keep one request alone. */
static bool is_concurrent(const world *w)
{
    return w->table->flags & TUTTI_COLLECTIVES_CONCURRENT;
}

static tutti_status begin(void *ctx, const world_piece *one, uint64_t *done, tutti_error *err)
{
    world *w = ctx;
    const pipeline *p = &w->pipeline;
    const bool sums = !one->told && !one->heard && !one->gathers && !one->phase[0];
    tutti_status s;
    WORLD_COUNT(w->counts.records, one->told != NULL);
    WORLD_COUNT(w->counts.gathers, one->gathers);
    WORLD_COUNT(w->counts.sums, sums);
    WORLD_COUNT(w->counts.overlapped, one->overlapped);
    if (!sums || one->most) {
        if ((s = flush(w, done, err)) || (s = run_alone(w, one, err)))
            return s;
        ++*done;
        return TUTTI_OK;
    }
    s = scatter_next(w, one, err);
    if (!s && p->reduced + 1 < p->scattered)
        s = reduce_next(w, err);
    if (!s && p->gathered + 1 < p->reduced)
        s = finish_next(w, done, err);
    return s || is_concurrent(w) ? s : flush(w, done, err);
}

/* The oldest operation under way; NULL: none.  What follows it has its place in the order, and is not begun here. */
static bucket *oldest(world *w)
{
    const pipeline *p = &w->pipeline;
    for (uint64_t k = p->gathered; k < p->scattered; k++)
        if (at(w, k)->waits)
            return at(w, k);
    return NULL;
}

static tutti_status wait_for_oldest(void *ctx, bool *ret_more, tutti_error *err)
{
    bucket *b = oldest(ctx);
    *ret_more = b != NULL;
    return b ? bucket_wait(b, err) : TUTTI_OK;
}

static tutti_status ask_oldest(void *ctx, bool *ret_more, tutti_error *err)
{
    bucket *b = oldest(ctx);
    *ret_more = b && bucket_can_be_asked(b);
    return *ret_more ? bucket_ask(b, err) : TUTTI_OK;
}

const background_work pipeline_work = {
    .begin = begin, .flush = flush, .wait = wait_for_oldest, .poll = ask_oldest};

void pipeline_fini(pipeline *p)
{
    for (int k = 0; k < PIPELINE_BUCKETS; k++)
        bucket_fini(&p->buckets[k]);
}
