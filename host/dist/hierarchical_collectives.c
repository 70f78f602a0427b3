/* hierarchical_collectives.c - the hierarchical all-reduce: sums on each machine first, then among machines: less crosses the network. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "dist/shards.h"
#include "dist/world_internal.h"

#include <stdlib.h>
#include <string.h>

/* Ranks of a machine follow each other, so their slots do, and the blocks of the tree that lie wholly among these are summed
 * on the machine.  Each shard of a piece has a courier on each machine, which does that for it: the rank that has the
 * same place among its machine's ranks as the shard's owner, counted round where machines have fewer.  Only the
 * couriers' sums cross: of L ranks a machine an L-th of what all of them would send. */

static bool is_here(const world *w, int32_t rank)
{
    return w->machines.first[rank] == w->machines.first[w->info.rank];
}

/* Of the shard of rank `owner`, on the machine of rank `on`. */
static int32_t courier(const world *w, int32_t owner, int32_t on)
{
    const world_machines *m = &w->machines;
    return m->first[on] + (owner - m->first[owner]) % m->size[on];
}

static bool carries(const world *w, int32_t rank, int32_t owner)
{
    return courier(w, owner, rank) == rank;
}

/* Numbers of the shards that `rank` is the courier of. */
static int64_t carried(const world *w, int64_t n, int32_t rank)
{
    int64_t all = 0;
    for (int32_t r = 0; r < w->info.size; r++)
        all += carries(w, rank, r) ? world_shard_length(w, n, r) : 0;
    return all;
}

/* ---- reduce-scatter on the machine ---- */

/* The blocks of the tree that lie wholly among the slots of the machine of `rank`. */
static uint32_t machine_blocks(const bucket *b, int32_t rank, slot_span blocks[SLOT_BLOCKS])
{
    const world *w = b->w;
    const world_piece *one = &b->one;
    const int32_t first = w->machines.first[rank], last = first + w->machines.size[rank] - 1;
    slot_span span = slots_of_rank(one->slots, w->info.size, first);
    const slot_span end = slots_of_rank(one->slots, w->info.size, last);
    span.count = end.first + end.count - span.first;
    if (one->rounds) {
        span = (slot_span){one->round * w->info.size + first, w->machines.size[rank]};
        if (span.first + span.count > one->slots)
            span.count = span.first < one->slots ? one->slots - span.first : 0;
    }
    return slots_blocks(span, blocks);
}

/* This rank's blocks by courier: of each block the shards that it carries. */
static void pack_blocks(bucket *b, void *to)
{
    const world *w = b->w;
    const world_piece *one = &b->one;
    uint64_t end = 0;
    for (int32_t r = 0; r < w->info.size; r++) {
        const uint64_t begin = end;
        for (uint32_t k = 0; is_here(w, r) && k < one->count; k++)
            for (int32_t s = 0; s < w->info.size; s++) {
                const int64_t first = one->at + world_shard_begin(w, one->n, s);
                const int64_t n = carries(w, r, s) ? world_shard_length(w, one->n, s) : 0;
                const float *data = one->mine[k].data;
                wire_put(one, to, end, data ? data + first : NULL, n);
                end += (uint64_t)n;
            }
        (void)bucket_part(b, 0, r, begin, end - begin);
    }
}

/* What the ranks of this machine send; returns how many numbers. */
static uint64_t expect_blocks(bucket *b)
{
    slot_span blocks[SLOT_BLOCKS];
    uint64_t end = 0;
    for (int32_t r = 0; r < b->w->info.size; r++) {
        const uint32_t count = is_here(b->w, r) ? sum_blocks(b->w, &b->one, r, blocks) : 0;
        end = bucket_part(b, 1, r, end, (uint64_t)b->carried * count);
    }
    return end;
}

/* The machine's blocks of what has come. */
static void sum_machine(bucket *b, float *from)
{
    slot_span whole[SLOT_BLOCKS], blocks[SLOT_BLOCKS];
    slot_stack stack = {.rounded = b->one.half ? b->carried : 0};
    (void)machine_blocks(b, b->w->info.rank, whole);
    for (int32_t r = 0; r < b->w->info.size; r++) {
        const uint32_t count = is_here(b->w, r) ? sum_blocks(b->w, &b->one, r, blocks) : 0;
        for (uint32_t k = 0; k < count; k++, from += b->carried) {
            const slot_span *block = &whole[b->nsums];
            slot_stack_push(&stack, (slot_sum){from, blocks[k]}, b->carried, 1);
            if (blocks[k].first + blocks[k].count < block->first + block->count)
                continue;
            b->sums[b->nsums++] = stack.sums[0];
            stack.count = 0;
        }
    }
}

/* ---- reduce-scatter between machines ---- */

/* The machine's sums by the owners of the shards. */
static void pack_sums(bucket *b, void *to)
{
    uint64_t end = 0;
    int64_t first = 0;
    for (int32_t s = 0; s < b->w->info.size; s++) {
        const bool mine = carries(b->w, b->w->info.rank, s);
        const int64_t n = mine ? world_shard_length(b->w, b->one.n, s) : 0;
        const uint64_t begin = end;
        for (uint32_t k = 0; k < b->nsums; k++, end += (uint64_t)n)
            wire_put(&b->one, to, end, b->sums[k].data + first, n);
        (void)bucket_part(b, 0, s, begin, end - begin);
        first += n;
    }
}

static uint64_t expect_sums(bucket *b, int64_t own)
{
    slot_span blocks[SLOT_BLOCKS];
    uint64_t end = 0;
    for (int32_t r = 0; r < b->w->info.size; r++) {
        const bool gives = carries(b->w, r, b->w->info.rank);
        const uint32_t count = gives ? machine_blocks(b, r, blocks) : 0;
        end = bucket_part(b, 1, r, end, (uint64_t)own * count);
    }
    return end;
}

/* Machines follow each other as their slots do. */
static void sum_shard(bucket *b, float *from, int64_t own, float *result)
{
    slot_span blocks[SLOT_BLOCKS];
    slot_stack stack = {.rounded = b->one.half ? own : 0};
    slot_sum last = {NULL, {0, 0}};
    sum_take_up(b->w, &b->one, &stack);
    for (int32_t r = 0; r < b->w->info.size; r++) {
        const bool gives = carries(b->w, r, b->w->info.rank);
        const uint32_t count = gives ? machine_blocks(b, r, blocks) : 0;
        for (uint32_t k = 0; k < count; k++, from += own) {
            if (last.data)
                slot_stack_push(&stack, last, own, 1);
            last = (slot_sum){from, blocks[k]};
        }
    }
    sum_put_down(b->w, &b->one, &stack, last, result, own);
}

static uint64_t larger(uint64_t x, uint64_t y)
{
    return x > y ? x : y;
}

/* An all-to-all that is waited for at once. */
static tutti_status send_now(bucket *b, void *out, void *in, tutti_error *err)
{
    const tutti_status s = bucket_all_to_all(b, out, in, err);
    return s ? s : bucket_wait(b, err);
}

tutti_status hierarchical_scatter(bucket *b, tutti_error *err)
{
    world *w = b->w;
    const world_piece *one = &b->one;
    slot_span blocks[SLOT_BLOCKS];
    const int64_t own = world_shard_length(w, one->n, w->info.rank);
    b->carried = carried(w, one->n, w->info.rank);
    b->nsums = 0;
    const uint64_t sent =
        larger((uint64_t)one->n * one->count,
               (uint64_t)b->carried * machine_blocks(b, w->info.rank, blocks));
    const uint64_t far = expect_sums(b, own), near = expect_blocks(b);
    tutti_status s = world_reserve(&b->memory, sent + near + far + 3, err);
    if (s)
        return world_note(w, s);
    float *out = b->memory.data, *in = out + sent;
    pack_blocks(b, out);
    if (one->was_read)
        one->was_read(one->ctx, one->at, one->n);
    if ((s = send_now(b, out, wire_place(one, in, near), err)))
        return s;
    wire_open(one, in, near);
    sum_machine(b, in);
    pack_sums(b, out);
    b->received = in + near;
    b->count = expect_sums(b, own);
    return bucket_all_to_all(b, out, wire_place(one, b->received, far), err);
}

void hierarchical_reduce(bucket *b, float *result, int64_t n)
{
    sum_shard(b, b->received, n, result);
}

/* ---- all-gather ---- */

/* This rank's shard to its courier on each machine. */
static void give_shard(bucket *b, int64_t n)
{
    const int32_t rank = b->w->info.rank;
    const uint64_t first = (uint64_t)world_shard_begin(b->w, n, rank);
    uint64_t end = 0;
    for (int32_t r = 0; r < b->w->info.size; r++) {
        const bool gets = carries(b->w, r, rank), gives = carries(b->w, rank, r);
        (void)bucket_part(b, 0, r, first,
                          gets ? (uint64_t)world_shard_length(b->w, n, rank) : 0);
        end = bucket_part(b, 1, r, end, gives ? (uint64_t)world_shard_length(b->w, n, r) : 0);
    }
}

/* What this rank carries to all of its machine. */
static void spread_shards(bucket *b, int64_t n)
{
    uint64_t end = 0;
    for (int32_t r = 0; r < b->w->info.size; r++) {
        const bool here = is_here(b->w, r);
        (void)bucket_part(b, 0, r, 0, here ? (uint64_t)b->carried : 0);
        end = bucket_part(b, 1, r, end, here ? (uint64_t)carried(b->w, n, r) : 0);
    }
}

static void place_shards(const bucket *b, const char *from, char *data, int64_t n)
{
    for (int32_t r = 0; r < b->w->info.size; r++)
        for (int32_t s = 0; is_here(b->w, r) && s < b->w->info.size; s++) {
            const uint64_t bytes =
                carries(b->w, r, s) ? (uint64_t)world_shard_length(b->w, n, s) * b->unit : 0;
            memcpy(data + (uint64_t)world_shard_begin(b->w, n, s) * b->unit, from, bytes);
            from += bytes;
        }
}

tutti_status hierarchical_gather(bucket *b, tutti_error *err)
{
    b->carried = carried(b->w, b->n, b->w->info.rank);
    const tutti_status s = world_reserve(&b->gathered, (uint64_t)(b->carried + b->n) + 1, err);
    if (s)
        return world_note(b->w, s);
    give_shard(b, b->n);
    return bucket_all_to_all(b, b->data, b->gathered.data, err);
}

tutti_status hierarchical_gathered(bucket *b, tutti_error *err)
{
    char *all = (char *)b->gathered.data + (uint64_t)b->carried * b->unit;
    tutti_status s = bucket_wait(b, err);
    if (s)
        return s;
    spread_shards(b, b->n);
    if (!(s = send_now(b, b->gathered.data, all, err)))
        place_shards(b, all, b->data, b->n);
    return s;
}
