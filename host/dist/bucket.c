/* bucket.c - one bucket on its way: reduce-scatter and all-gather, each begun, and waited for later. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "dist/shards.h"
#include "dist/world_internal.h"

#include <stdlib.h>
#include <string.h>

/* A piece of the arrays is cut into shards, one a rank: an all-to-all brings everybody's blocks of a shard to its rank,
 * which adds them up in the order of the tree (a reduce-scatter); an all-gather brings the sum to all. */

tutti_status bucket_reserve(bucket *b, world *w, tutti_error *err)
{
    const size_t size = (size_t)w->info.size;
    b->w = w;
    if (b->offsets[0])
        return TUTTI_OK;
    uint64_t *all = calloc(4 * size, sizeof *all);
    if (!all)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for the world of ranks");
    for (size_t k = 0; k < 2; k++) {
        b->offsets[k] = all + 2 * k * size;
        b->bytes[k] = all + (2 * k + 1) * size;
    }
    return TUTTI_OK;
}

void bucket_fini(bucket *b)
{
    free(b->offsets[0]);
    free(b->memory.data);
    free(b->gathered.data);
}

uint64_t bucket_part(bucket *b, int side, int32_t r, uint64_t at, uint64_t numbers)
{
    b->offsets[side][r] = at * b->unit;
    b->bytes[side][r] = numbers * b->unit;
    return at + numbers;
}

/* ---- operations ---- */

static tutti_parts parts_of(const bucket *b, int side, void *data)
{
    return (tutti_parts){.struct_size = sizeof(tutti_parts),
                         .data = data,
                         .offsets = b->offsets[side],
                         .bytes = b->bytes[side]};
}

tutti_status bucket_all_to_all(bucket *b, void *send, void *receive, tutti_error *err)
{
    world *w = b->w;
    b->out = parts_of(b, 0, send);
    b->in = parts_of(b, 1, receive);
    world_count_sent(w, &b->out);
    instance_call c = instance_enter(w->options.comm, "all_to_all");
    const tutti_status s = w->table->all_to_all(w->self, &b->out, &b->in, &b->request, err);
    instance_leave(&c);
    b->waits = s ? NULL : "all_to_all";
    return world_note(w, s);
}

static tutti_status all_gather(bucket *b, void *data, tutti_error *err)
{
    world *w = b->w;
    b->out = parts_of(b, 0, data);
    world_count_told(w, b->bytes[0][w->info.rank]);
    instance_call c = instance_enter(w->options.comm, "all_gather");
    const tutti_status s = w->table->all_gather(w->self, &b->out, &b->request, err);
    instance_leave(&c);
    b->waits = s ? NULL : "all_gather";
    return world_note(w, s);
}

tutti_status bucket_wait(bucket *b, tutti_error *err)
{
    world *w = b->w;
    if (!b->waits)
        return TUTTI_OK;
    instance_call c = instance_enter(w->options.comm, b->waits);
    const tutti_status s = w->table->wait(w->self, b->request, err);
    instance_leave(&c);
    b->waits = NULL;
    return world_note(w, s);
}

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
    return all_gather(b, data, err);
}

tutti_status bucket_gathered(bucket *b, tutti_error *err)
{
    return b->w->machines.hierarchical ? hierarchical_gathered(b, err) : bucket_wait(b, err);
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
