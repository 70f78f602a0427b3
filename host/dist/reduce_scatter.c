/* reduce_scatter.c - a bucket's reduce-scatter and the all-gather of its sums, each begun, and waited for later. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "dist/shards.h"
#include "dist/world_internal.h"

/* A piece of the arrays is cut into shards, one a rank: an all-to-all brings everybody's blocks of a shard to its rank,
 * which adds them up in the order of the tree (a reduce-scatter); an all-gather brings the sum to all. */

/* ---- reduce-scatter ---- */

/* Whether this rank's numbers stay as they are until they are added. */
static bool may_stay(const world_piece *one)
{
    bool there = !one->half && !one->rounds && !one->was_read;
    for (uint32_t k = 0; k < one->count && there; k++)
        there = one->mine[k].data != NULL;
    return there;
}

static bool is_sent(const bucket *b, int32_t r)
{
    return !b->in_place || r != b->w->info.rank;
}

/* One block alone is sent from where it lies, several, by shard, from `to`.  What is sent begins there. */
static void *lay_out(bucket *b, float *to)
{
    const world_piece *one = &b->one;
    const bool stays = b->in_place && one->count == 1;
    uint64_t end = 0;
    for (int32_t r = 0; r < b->w->info.size; r++) {
        const int64_t first = world_shard_begin(b->w, one->n, r),
                      n = world_shard_length(b->w, one->n, r);
        (void)bucket_part(b, 0, r, stays ? (uint64_t)first : end,
                          is_sent(b, r) ? (uint64_t)n * one->count : 0);
        for (uint32_t k = 0; k < one->count && is_sent(b, r) && !stays; k++) {
            const float *data = one->mine[k].data;
            wire_put(one, to, end, data ? data + one->at + first : NULL, n);
            end += (uint64_t)n;
        }
    }
    return stays ? one->mine[0].data + one->at : to;
}

/* What every rank sends for this one's shard of n numbers; returns how many numbers. */
static uint64_t expect(bucket *b, int64_t n)
{
    slot_span blocks[SLOT_BLOCKS];
    uint64_t all = 0;
    for (int32_t r = 0; r < b->w->info.size; r++) {
        const uint32_t count = is_sent(b, r) ? sum_blocks(b->w, &b->one, r, blocks) : 0;
        all = bucket_part(b, 1, r, all, (uint64_t)n * count);
    }
    return all;
}

/* Adds what all ranks have of this one's shard, in the tree's order; what others have has come. */
static void add_up(bucket *b, float *result, int64_t n)
{
    const world_piece *one = &b->one;
    const int64_t first = world_shard_begin(b->w, one->n, b->w->info.rank);
    float *received = b->received;
    slot_span blocks[SLOT_BLOCKS];
    slot_stack stack = {.rounded = one->half ? n : 0};
    slot_sum last = {NULL, {0, 0}};
    sum_take_up(b->w, one, &stack);
    for (int32_t r = 0; r < b->w->info.size; r++) {
        const uint32_t count = sum_blocks(b->w, one, r, blocks);
        for (uint32_t k = 0; k < count; k++) {
            if (last.data)
                slot_stack_push(&stack, last, n, 1);
            last = (slot_sum){is_sent(b, r) ? received : one->mine[k].data + one->at + first,
                              blocks[k]};
            received += is_sent(b, r) ? n : 0;
        }
    }
    sum_put_down(b->w, one, &stack, last, result, n);
}

static tutti_status scatter(bucket *b, tutti_error *err)
{
    world *w = b->w;
    const world_piece *one = &b->one;
    b->in_place = may_stay(one);
    const uint64_t sent = b->in_place && one->count == 1 ? 0 : (uint64_t)one->n * one->count;
    b->count = expect(b, world_shard_length(w, one->n, w->info.rank));
    const tutti_status s = world_reserve(&b->memory, sent + b->count + 1, err);
    if (s)
        return world_note(w, s);
    b->received = b->memory.data + sent;
    void *send = lay_out(b, b->memory.data);
    if (one->was_read)
        one->was_read(one->ctx, one->at, one->n);
    return bucket_all_to_all(b, send, wire_place(one, b->received, b->count), err);
}

tutti_status bucket_scatter(bucket *b, world *w, const world_piece *one, tutti_error *err)
{
    const tutti_status s = bucket_reserve(b, w, err);
    if (s)
        return world_note(w, s);
    b->one = *one;
    b->unit = wire_unit(one);
    return w->machines.hierarchical ? hierarchical_scatter(b, err) : scatter(b, err);
}

/* ---- all-gather ---- */

tutti_status bucket_gather(bucket *b, void *data, int64_t n, tutti_error *err)
{
    b->data = data;
    b->n = n;
    if (b->w->machines.hierarchical)
        return hierarchical_gather(b, err);
    for (int32_t r = 0; r < b->w->info.size; r++)
        (void)bucket_part(b, 0, r, (uint64_t)world_shard_begin(b->w, n, r),
                          (uint64_t)world_shard_length(b->w, n, r));
    return bucket_all_gather(b, data, err);
}

tutti_status bucket_gathered(bucket *b, tutti_error *err)
{
    return b->w->machines.hierarchical ? hierarchical_gathered(b, err) : bucket_wait(b, err);
}

tutti_status world_gather_piece(world *w, void *data, int64_t n, uint64_t unit,
                                tutti_error *err)
{
    tutti_status s = bucket_reserve(&w->alone, w, err);
    w->alone.unit = unit;
    if (!s)
        s = bucket_gather(&w->alone, data, n, err);
    return world_note(w, s ? s : bucket_gathered(&w->alone, err));
}

/* The sums of this rank's shard to all. */
static tutti_status gather_sums(bucket *b, tutti_error *err)
{
    const world_piece *one = &b->one;
    float *result = one->result + one->at;
    const int64_t first = world_shard_begin(b->w, one->n, b->w->info.rank);
    if (!one->half)
        return bucket_gather(b, result, one->n, err);
    const tutti_status s = world_reserve(&b->memory, (uint64_t)one->n, err);
    if (s)
        return world_note(b->w, s);
    wire_put(one, b->memory.data, (uint64_t)first, result + first,
             world_shard_length(b->w, one->n, b->w->info.rank));
    return bucket_gather(b, b->memory.data, one->n, err);
}

tutti_status bucket_reduce(bucket *b, tutti_error *err)
{
    const world_piece *one = &b->one;
    const int64_t n = world_shard_length(b->w, one->n, b->w->info.rank);
    float *result = one->result + one->at + world_shard_begin(b->w, one->n, b->w->info.rank);
    const tutti_status s = bucket_wait(b, err);
    if (s)
        return s;
    wire_open(one, b->received, b->count);
    if (b->w->machines.hierarchical)
        hierarchical_reduce(b, result, n);
    else
        add_up(b, result, n);
    b->data = NULL;
    return !sum_is_over(b->w, one) || one->shard_only ? TUTTI_OK : gather_sums(b, err);
}

tutti_status bucket_finish(bucket *b, tutti_error *err)
{
    const world_piece *one = &b->one;
    const tutti_status s = b->data ? bucket_gathered(b, err) : TUTTI_OK;
    if (!s && b->data && one->half)
        wire_read(b->memory.data, one->result + one->at, one->n);
    return s;
}
