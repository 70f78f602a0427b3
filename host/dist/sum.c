/* sum.c - the all-reduce (reduce-scatter, then all-gather): the sum over all slots of a batch, on any ranks, by one tree. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "dist/shards.h"
#include "dist/world_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A piece of the arrays is summed at a time.  It is cut into shards, one a rank: an all-to-all brings everybody's
 * blocks of a shard to its rank, which adds them up in the order of the tree (a reduce-scatter); an all-gather brings the
 * sum to all. */

enum { MOST_RANKS = 4096 };

typedef struct piece {
    world *w;
    const world_piece *one;
    bool in_place; /* this rank's blocks are added where they lie, and not sent to itself */
    uint64_t offsets[2][MOST_RANKS], bytes[2][MOST_RANKS]; /* of the all-to-all */
} piece;

/* Whether this rank's numbers stay as they are until they are added. */
static bool may_stay(const world_piece *one)
{
    bool there = !one->half && !one->rounds && !one->was_read;
    for (uint32_t k = 0; k < one->count && there; k++)
        there = one->mine[k].data != NULL;
    return there;
}

static bool is_sent(const piece *p, int32_t r)
{
    return !p->in_place || r != p->w->info.rank;
}

/* One block alone is sent from where it lies, several, by shard, from `to`.  What is sent begins there. */
static void *lay_out(piece *p, float *to)
{
    const world_piece *one = p->one;
    const uint64_t unit = wire_unit(one);
    const bool stays = p->in_place && one->count == 1;
    uint64_t end = 0;
    for (int32_t r = 0; r < p->w->info.size; r++) {
        const int64_t first = world_shard_begin(p->w, one->n, r),
                      n = world_shard_length(p->w, one->n, r);
        p->offsets[0][r] = (stays ? (uint64_t)first : end) * unit;
        p->bytes[0][r] = is_sent(p, r) ? (uint64_t)n * one->count * unit : 0;
        for (uint32_t k = 0; k < one->count && is_sent(p, r) && !stays; k++) {
            const float *data = one->mine[k].data;
            wire_put(one, to, end, data ? data + one->at + first : NULL, n);
            end += (uint64_t)n;
        }
    }
    return stays ? one->mine[0].data + one->at : to;
}

static tutti_status transpose(piece *p, void *send, void *receive, tutti_error *err)
{
    const tutti_parts out = {.struct_size = sizeof out,
                             .data = send,
                             .offsets = p->offsets[0],
                             .bytes = p->bytes[0]};
    const tutti_parts in = {.struct_size = sizeof in,
                            .data = receive,
                            .offsets = p->offsets[1],
                            .bytes = p->bytes[1]};
    return world_all_to_all(p->w, &out, &in, err);
}

/* What every rank sends for this one's shard of n numbers; returns how many numbers. */
static uint64_t expect(piece *p, int64_t n)
{
    slot_span blocks[SLOT_BLOCKS];
    const uint64_t unit = wire_unit(p->one);
    uint64_t all = 0;
    for (int32_t r = 0; r < p->w->info.size; r++) {
        const uint32_t count = is_sent(p, r) ? sum_blocks(p->w, p->one, r, blocks) : 0;
        p->offsets[1][r] = all * unit;
        p->bytes[1][r] = (uint64_t)n * count * unit;
        all += (uint64_t)n * count;
    }
    return all;
}

/* Adds what all ranks have of this one's shard, in the tree's order; what others have lies at `received`. */
static void add_up(const piece *p, float *received, float *result, int64_t n)
{
    const world_piece *one = p->one;
    const int64_t first = world_shard_begin(p->w, one->n, p->w->info.rank);
    slot_span blocks[SLOT_BLOCKS];
    slot_stack stack = {.rounded = one->half ? n : 0};
    slot_sum last = {NULL, {0, 0}};
    sum_take_up(p->w, one, &stack);
    for (int32_t r = 0; r < p->w->info.size; r++) {
        const uint32_t count = sum_blocks(p->w, one, r, blocks);
        for (uint32_t k = 0; k < count; k++) {
            if (last.data)
                slot_stack_push(&stack, last, n, 1);
            last = (slot_sum){is_sent(p, r) ? received : one->mine[k].data + one->at + first,
                              blocks[k]};
            received += is_sent(p, r) ? n : 0;
        }
    }
    sum_put_down(p->w, one, &stack, last, result, n);
}

/* This rank's shard of the piece, n numbers, summed. */
static tutti_status sum_shard(piece *p, float *result, int64_t n, tutti_error *err)
{
    world *w = p->w;
    const world_piece *one = p->one;
    const uint64_t sent = p->in_place && one->count == 1 ? 0 : (uint64_t)one->n * one->count;
    const uint64_t all = expect(p, n);
    tutti_status s = world_reserve(&w->memory, sent + all + 1, err);
    if (s)
        return s;
    float *received = w->memory.data + sent;
    void *send = lay_out(p, w->memory.data);
    if (one->was_read)
        one->was_read(one->ctx, one->at, one->n);
    if ((s = transpose(p, send, wire_place(one, received, all), err)))
        return s;
    wire_open(one, received, all);
    add_up(p, received, result, n);
    return TUTTI_OK;
}

/* A world of one adds up its blocks. */
static void sum_alone(const world *w, const world_piece *p)
{
    slot_stack stack = {.rounded = p->half ? p->n : 0};
    for (uint32_t k = 0; k < p->count; k++)
        if (p->mine[k].data)
            slot_stack_push(&stack, (slot_sum){p->mine[k].data + p->at, p->mine[k].span}, p->n,
                            w->options.threads);
    const float *sum = slot_stack_finish(&stack, p->n, w->options.threads);
    if (sum && sum != p->result + p->at)
        memcpy(p->result + p->at, sum, (size_t)p->n * sizeof(float));
}

/* All-gather: the sums of all shards to all. */
static tutti_status gather_sums(world *w, const world_piece *one, tutti_error *err)
{
    float *result = one->result + one->at;
    if (!one->half)
        return world_gather_piece(w, result, one->n, sizeof *result, err);
    tutti_status s = world_reserve(&w->memory, (uint64_t)one->n, err);
    const int64_t first = world_shard_begin(w, one->n, w->info.rank);
    if (!s) {
        wire_put(one, w->memory.data, (uint64_t)first, result + first,
                 world_shard_length(w, one->n, w->info.rank));
        s = world_gather_piece(w, w->memory.data, one->n, wire_unit(one), err);
    }
    if (!s)
        wire_read(w->memory.data, result, one->n);
    return s;
}

static tutti_status sum_at_once(world *w, const world_piece *one, float *result, int64_t n,
                                tutti_error *err)
{
    if (w->info.size > MOST_RANKS)
        return tutti_fail(err, TUTTI_E_RANGE, "a world of %d ranks, want at most %d",
                          w->info.size, MOST_RANKS);
    piece *p = malloc(sizeof *p);
    if (!p)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for the world of ranks");
    p->w = w;
    p->one = one;
    p->in_place = may_stay(one);
    const tutti_status s = sum_shard(p, result, n, err);
    free(p);
    return s;
}

static tutti_status sum_piece(world *w, const world_piece *one, tutti_error *err)
{
    const int64_t first = world_shard_begin(w, one->n, w->info.rank);
    const int64_t n = world_shard_length(w, one->n, w->info.rank);
    float *result = one->result + one->at + first;
    const tutti_status s = w->machines.hierarchical
                               ? world_sum_hierarchical(w, one, result, err)
                               : sum_at_once(w, one, result, n, err);
    return s || !sum_is_over(w, one) || one->shard_only ? s : gather_sums(w, one, err);
}

static tutti_status run(void *ctx, const world_piece *one, tutti_error *err)
{
    world *w = ctx;
    w->counts.records += one->told != NULL;
    w->counts.gathers += one->gathers;
    w->counts.sums += !one->told && !one->gathers;
    if (one->told)
        return world_tell_all(w, one->told, one->all, one->bytes, err);
    char phase[48];
    (void)snprintf(phase, sizeof phase, "%s, bucket %llu",
                   one->gathers ? "gathering weights" : "summing gradients",
                   (unsigned long long)++w->buckets[one->gathers]);
    world_tell_phase(w, phase);
    return world_note(w, one->gathers ? world_gather_piece(w, one->result + one->at, one->n,
                                                           sizeof(float), err)
                                      : sum_piece(w, one, err));
}

tutti_status world_start(world *w, const world_piece *one, tutti_error *err)
{
    if (w->info.size > 1)
        return background_start(&w->background, run, w, one, err);
    sum_alone(w, one);
    return TUTTI_OK;
}

tutti_status world_start_exchange(world *w, const void *mine, void *all, uint64_t bytes,
                                  tutti_error *err)
{
    const world_piece one = {.told = mine, .all = all, .bytes = bytes};
    return w->info.size > 1 ? background_start(&w->background, run, w, &one, err)
                            : world_tell_all(w, mine, all, bytes, err);
}

uint64_t world_started(const world *w)
{
    return w->background.started;
}

void world_wait(world *w, uint64_t n)
{
    background_wait(&w->background, n);
}

tutti_status world_finish(world *w, tutti_error *err)
{
    return background_finish(&w->background, err);
}

int64_t world_waited_ns(const world *w)
{
    return w->background.waited_ns;
}
