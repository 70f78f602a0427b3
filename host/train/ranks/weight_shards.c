/* weight_shards.c - weight sharding (FSDP, ZeRO-3), and weights that ranks update in shards: gathered where they are read. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/ranks/weight_shards.h"

#include "dist/shards.h"
#include "graph/plan/plan.h"
#include "graph/runtime/host_memory.h"

#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

/* Weight sharding (FSDP, ZeRO-3) gathers for each pass and gives back.  Where the optimizer's state alone is sharded (ZeRO-1),
 * or gradients too (ZeRO-2), the first forward pass behind an update gathers, and weights are kept.
 *
 * The world's thread takes gathers and sums of gradients in one order, which every rank must keep: gathers of a pass by the
 * step that reads first, and among sums by weight_bucket.sums.  Both come from the plan that all ranks have fitted.  A plan for
 * fewer samples may have its steps in another order (program/schedule.c), and read a bucket before it has completed the
 * gradients whose sums the first plan begins earlier.  So all ranks admit both: a gather begins before all sums that any of
 * their plans cannot begin before it reads the bucket.  A rank that runs none keeps the order. */

static float *arena(const weight_shards *w, int64_t *ret_count)
{
    float *weights, *gradients;
    net_arena(w->run->net, &weights, &gradients, ret_count);
    return weights;
}

void weights_close(weight_shards *w)
{
    free(w->passes[0].buckets);
    free(w->passes[1].buckets);
}

static int by_reads(const void *a, const void *b)
{
    const weight_bucket *x = a, *y = b;
    if (x->reads != y->reads)
        return x->reads < y->reads ? -1 : 1;
    return x->first < y->first ? -1 : x->first > y->first;
}

/* When each bucket of a pass, also one that is not gathered so far, is read by `p`. */
static void time_pass(weight_pass *pass, int32_t segment, const plan *p)
{
    for (uint32_t k = 0; k < pass->all; k++) {
        weight_bucket *b = &pass->buckets[k];
        const program_use use = plan_weight_use(p, segment, b->first, b->count);
        b->reads = use.first ? use.first : UINT32_MAX;
        b->last = use.last;
    }
}

/* Those that are kept begin at once, which takes no memory. */
static void time_gathers(const weight_shards *w, weight_pass *pass)
{
    for (uint32_t k = 0; k < pass->count; k++)
        pass->buckets[k].due = w->keeps || k < WEIGHT_BUCKETS_AHEAD
                                   ? 1
                                   : pass->buckets[k - WEIGHT_BUCKETS_AHEAD].reads;
}

static uint32_t sums_before(uint32_t step, const uint32_t *steps, uint32_t nsums)
{
    uint32_t n = 0;
    while (steps && n < nsums && steps[n] < step)
        n++;
    return n;
}

static void count_sums(weight_pass *pass, const uint32_t *steps, uint32_t nsums)
{
    for (uint32_t k = 0; k < pass->count; k++)
        pass->buckets[k].sums = sums_before(pass->buckets[k].due, steps, nsums);
}

/* Those that no plan before this one has read come behind the others. */
static void take_up(weight_pass *pass, uint32_t nsums)
{
    for (uint32_t k = pass->count; k < pass->all; k++) {
        const weight_bucket b = pass->buckets[k];
        if (b.reads == UINT32_MAX)
            continue;
        pass->buckets[k] = pass->buckets[pass->count];
        pass->buckets[pass->count] = b;
        pass->buckets[pass->count++].sums = nsums;
    }
}

void weights_admit(weight_shards *w, const plan *p, const uint32_t *steps, uint32_t nsums)
{
    for (int32_t segment = 0; segment < 2; segment++) {
        weight_pass *pass = &w->passes[segment];
        const uint32_t most = segment ? nsums : 0;
        uint32_t least = most;
        time_pass(pass, segment, p);
        take_up(pass, most);
        for (uint32_t k = pass->count; k-- > 0;) { /* with a bucket go all before it */
            weight_bucket *b = &pass->buckets[k];
            const uint32_t n = sums_before(b->reads, steps, most);
            least = b->reads != UINT32_MAX && n < least ? n : least;
            b->sums = b->sums < least ? b->sums : least;
        }
    }
}

tutti_status weights_fit(weight_shards *w, const plan *p, const uint32_t *steps, uint32_t nsums,
                         tutti_error *err)
{
    int64_t n;
    float *weights = arena(w, &n);
    const int64_t most = world_bucket(w->world);
    const size_t count = (size_t)((n + most - 1) / most);
    for (int32_t segment = 0; segment < 2; segment++) {
        weight_pass *pass = &w->passes[segment];
        weight_bucket *buckets = realloc(pass->buckets, (count + 1) * sizeof *buckets);
        if (!buckets)
            return tutti_fail(err, TUTTI_E_NOMEM, "no memory for buckets of weights");
        memset(buckets, 0, (count + 1) * sizeof *buckets);
        pass->buckets = buckets;
        pass->count = pass->all = (uint32_t)count;
        for (size_t k = 0; k < count; k++) {
            const int64_t first = (int64_t)k * most;
            buckets[k].first = first;
            buckets[k].count = n - first < most ? n - first : most;
        }
        time_pass(pass, segment, p);
        qsort(buckets, count, sizeof *buckets, by_reads);
        while (!w->keeps && pass->count > 0 && buckets[pass->count - 1].reads == UINT32_MAX)
            pass->count--;
        if (w->keeps && segment == 1)
            pass->count = pass->all = 0;
        time_gathers(w, pass);
        count_sums(pass, segment ? steps : NULL, nsums);
    }
    if (!w->keeps)
        host_memory_keep_small(weights, (uint64_t)n * sizeof *weights);
    return TUTTI_OK;
}

uint64_t weights_order(const weight_shards *w)
{
    uint64_t hash = 0;
    for (int segment = 0; segment < 2; segment++)
        for (uint32_t k = 0; k < w->passes[segment].count; k++) {
            const weight_bucket *b = &w->passes[segment].buckets[k];
            const int64_t at[] = {segment, b->first, b->sums};
            hash = XXH3_64bits_withSeed(at, sizeof at, hash);
        }
    return hash;
}

void weights_begin_round(weight_shards *w)
{
    w->error = (tutti_error)TUTTI_ERROR_INIT;
    w->sums = 0;
    w->watching = false;
    for (int k = w->keeps; k < 2; k++)
        w->passes[k].started = 0;
}

void weights_begin_batch(weight_shards *w)
{
    weight_pass *pass = &w->passes[0];
    if (!w->on || !w->keeps)
        return;
    pass->started = w->sharded ? 0 : pass->count;
    for (uint32_t k = 0; k < pass->count; k++)
        pass->buckets[k].there = !w->sharded;
}

/* ---- gathers ---- */

static void give_back(weight_shards *w, weight_bucket *b)
{
    int64_t n;
    float *at = arena(w, &n) + b->first;
    const int32_t rank = world_rank(w->world);
    const int64_t own = world_shard_begin(w->world, b->count, rank);
    const int64_t end = world_shard_begin(w->world, b->count, rank + 1);
    world_wait(w->world, b->piece);
    b->gone = w->sharded = true;
    host_memory_release(at, (uint64_t)own * sizeof *at);
    host_memory_release(at + end, (uint64_t)(b->count - end) * sizeof *at);
}

static void start(weight_shards *w, weight_pass *pass)
{
    weight_bucket *b = &pass->buckets[pass->started++];
    int64_t n;
    tutti_error error = TUTTI_ERROR_INIT;
    const world_piece piece = {
        .at = b->first, .n = b->count, .result = arena(w, &n), .gathers = true};
    b->there = b->gone = false;
    w->sharded = true; /* until all of this pass are there, or are gathered again */
    if (world_start(w->world, &piece, &error) && !w->error.status)
        w->error = error;
    b->piece = world_started(w->world);
    if (!w->watching && !w->keeps) /* for the others alone */
        give_back(w, b);
}

/* Of a plan that not all ranks have admitted. */
static void refuse(weight_shards *w)
{
    (void)tutti_fail(&w->error, TUTTI_E_STATE,
                     "a microbatch's shape was changed behind the beginning of its batch, and "
                     "it completes gradients in another order than weights are gathered in; "
                     "want \"sharding\": \"gradients\"");
}

/* Bucket `k` of the pass is read next. */
static void want(weight_shards *w, weight_pass *pass, uint32_t k)
{
    weight_bucket *b = &pass->buckets[k];
    while (pass->started <= k) {
        if (pass->buckets[pass->started].sums > w->sums && !w->error.status)
            refuse(w);
        if (w->error.status)
            return;
        start(w, pass);
    }
    world_wait(w->world, b->piece);
    b->there = true;
}

static void reached(void *ctx, int32_t segment, uint32_t step)
{
    weight_shards *w = ctx;
    weight_pass *pass = &w->passes[w->keeps ? 0 : segment];
    if (w->keeps && segment == 1)
        step = UINT32_MAX; /* all */
    for (uint32_t k = 0; k < pass->started && !w->keeps; k++)
        if (!pass->buckets[k].gone && pass->buckets[k].last < step)
            give_back(w, &pass->buckets[k]);
    while (pass->started < pass->count && pass->buckets[pass->started].due <= step &&
           pass->buckets[pass->started].sums <= w->sums)
        start(w, pass);
    for (uint32_t k = 0; k < pass->count && !w->error.status; k++)
        if (pass->buckets[k].reads <= step && (k >= pass->started || !pass->buckets[k].there))
            want(w, pass, k);
}

void weights_watch(weight_shards *w, plan *p)
{
    if (!w->on)
        return;
    for (int32_t segment = 0; segment < 2; segment++) {
        weight_pass *pass = &w->passes[segment];
        time_pass(pass, segment, p);
        time_gathers(w, pass);
        for (uint32_t k = pass->count; k < pass->all && !w->keeps && !w->error.status; k++)
            if (pass->buckets[k].reads != UINT32_MAX)
                refuse(w);
    }
    w->watching = true;
    plan_reach(p, reached, w);
}

void weights_before_sum(weight_shards *w, uint32_t k)
{
    weight_pass *pass = &w->passes[1];
    while (w->on && pass->started < pass->count && pass->buckets[pass->started].sums <= k)
        start(w, pass);
    w->sums = k + 1;
}

static void end_pass(weight_shards *w, weight_pass *pass)
{
    if (!w->on)
        return;
    for (uint32_t k = 0; k < pass->started && !w->keeps; k++)
        if (!pass->buckets[k].gone)
            give_back(w, &pass->buckets[k]);
    w->watching = false;
    while (pass->started < pass->count)
        start(w, pass);
}

void weights_end_forward(weight_shards *w)
{
    end_pass(w, &w->passes[0]);
}

void weights_end_backward(weight_shards *w)
{
    end_pass(w, &w->passes[1]);
}

void weights_wait(weight_shards *w)
{
    weight_pass *pass = &w->passes[0];
    if (!w->on || !w->keeps)
        return;
    for (uint32_t k = 0; k < pass->started; k++) {
        if (!pass->buckets[k].there)
            world_wait(w->world, pass->buckets[k].piece);
        pass->buckets[k].there = true;
    }
}

void weights_settle(weight_shards *w)
{
    if (w->on && w->keeps)
        w->sharded = w->passes[0].started < w->passes[0].count;
}

tutti_status weights_gather_all(weight_shards *w, tutti_error *err)
{
    int64_t n;
    if (!w->sharded)
        return TUTTI_OK;
    float *weights = arena(w, &n);
    const tutti_status s = world_gather_shards(w->world, weights, n, err);
    w->sharded = s != TUTTI_OK;
    return s;
}
