/* sum.c - the sum over all slots of a batch, whichever ranks hold them, by one tree. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "dist/shares.h"
#include "dist/world_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A piece of the arrays is summed at a time.  It is cut into shares, one a rank: an all-to-all brings everybody's
 * blocks of a share to its rank, which adds them up in the order of the tree; an all-gather brings the sum to all. */

enum { MOST_RANKS = 4096 };

typedef struct piece {
    world *w;
    const slot_sum *mine;
    uint32_t count;
    int64_t slots;
    const world_piece *one;
    int64_t at, n;                                         /* of the arrays */
    uint64_t offsets[2][MOST_RANKS], bytes[2][MOST_RANKS]; /* of the all-to-all */
} piece;

static tutti_status reserve(world *w, uint64_t numbers, tutti_error *err)
{
    const uint64_t bytes = numbers * sizeof(float);
    if (numbers <= w->capacity)
        return TUTTI_OK;
    free(w->memory);
    w->memory = aligned_alloc(64, (bytes + 63) / 64 * 64);
    w->capacity = w->memory ? numbers : 0;
    return w->memory ? TUTTI_OK
                     : tutti_fail(err, TUTTI_E_NOMEM,
                                  "no memory for %llu bytes of gradients under way",
                                  (unsigned long long)bytes);
}

/* Lays this rank's blocks out by share; returns how many numbers there are. */
static int64_t pack(piece *p, float *to)
{
    int64_t end = 0;
    for (int32_t r = 0; r < p->w->info.size; r++) {
        const int64_t first = world_share(p->w, p->n, r),
                      n = world_share(p->w, p->n, r + 1) - first;
        p->offsets[0][r] = (uint64_t)end * sizeof(float);
        p->bytes[0][r] = (uint64_t)n * p->count * sizeof(float);
        for (uint32_t k = 0; k < p->count; k++, end += n)
            if (p->mine[k].data)
                memcpy(to + end, p->mine[k].data + p->at + first, (size_t)n * sizeof(float));
            else
                memset(to + end, 0, (size_t)n * sizeof(float));
    }
    return end;
}

static tutti_status transpose(piece *p, float *send, float *receive, tutti_error *err)
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

/* The blocks of the tree that rank `r` gives to the piece. */
static uint32_t blocks_of(const piece *p, int32_t r, slot_span blocks[SLOT_BLOCKS])
{
    const int32_t size = p->w->info.size;
    if (!p->one->rounds)
        return slots_blocks(slots_of_rank(p->slots, size, r), blocks);
    blocks[0] = (slot_span){p->one->round * size + r, 1};
    return blocks[0].first < p->slots;
}

/* What earlier rounds have come to. */
static void take_up(const piece *p, slot_stack *stack)
{
    slot_span blocks[SLOT_BLOCKS];
    const world_piece *one = p->one;
    if (!one->rounds)
        return;
    stack->count = slots_blocks((slot_span){0, one->round * p->w->info.size}, blocks);
    for (uint32_t k = 0; k < stack->count; k++)
        stack->sums[k] = (slot_sum){one->rounds->sums[k] + one->own_at, blocks[k]};
}

/* The sum where the piece's result is, or, if rounds follow, what there is of it. */
static void put_down(const piece *p, slot_stack *stack, float *result, int64_t n)
{
    const world_piece *one = p->one;
    if (!one->rounds || (one->round + 1) * p->w->info.size >= p->slots) {
        memcpy(result, slot_stack_finish(stack, n, 1), (size_t)n * sizeof *result);
        return;
    }
    for (uint32_t k = 0; k < stack->count; k++) {
        float *to = one->rounds->sums[k] + one->own_at;
        if (to != stack->sums[k].data)
            memcpy(to, stack->sums[k].data, (size_t)n * sizeof *to);
    }
}

/* This rank's share of the piece, summed in the tree's order. */
static tutti_status sum_share(piece *p, float *result, tutti_error *err)
{
    world *w = p->w;
    const world_piece *one = p->one;
    const int64_t first = world_share(w, p->n, w->info.rank);
    const int64_t n = world_share(w, p->n, w->info.rank + 1) - first;
    slot_span blocks[SLOT_BLOCKS];
    slot_stack stack = {.count = 0};
    uint64_t all = 0;
    for (int32_t r = 0; r < w->info.size; r++) {
        const uint32_t count = blocks_of(p, r, blocks);
        p->offsets[1][r] = all * sizeof(float);
        p->bytes[1][r] = (uint64_t)n * count * sizeof(float);
        all += (uint64_t)n * count;
    }
    const uint64_t sent = (uint64_t)p->n * p->count;
    tutti_status s = reserve(w, sent + all + 1, err);
    if (s)
        return s;
    (void)pack(p, w->memory);
    if (one->was_read)
        one->was_read(one->ctx, p->at, p->n);
    float *received = w->memory + sent;
    if ((s = transpose(p, w->memory, received, err)))
        return s;
    take_up(p, &stack);
    for (int32_t r = 0; r < w->info.size; r++) {
        const uint32_t count = blocks_of(p, r, blocks);
        for (uint32_t k = 0; k < count; k++, received += n)
            slot_stack_push(&stack, (slot_sum){received, blocks[k]}, n, 1);
    }
    put_down(p, &stack, result + p->at + first, n);
    return TUTTI_OK;
}

/* A world of one adds up its blocks. */
static void sum_alone(const world *w, const world_piece *p)
{
    slot_stack stack = {.count = 0};
    for (uint32_t k = 0; k < p->count; k++)
        if (p->mine[k].data)
            slot_stack_push(&stack, (slot_sum){p->mine[k].data + p->at, p->mine[k].span}, p->n,
                            w->options.threads);
    const float *sum = slot_stack_finish(&stack, p->n, w->options.threads);
    if (sum && sum != p->result + p->at)
        memcpy(p->result + p->at, sum, (size_t)p->n * sizeof(float));
}

static tutti_status sum_piece(world *w, const world_piece *one, tutti_error *err)
{
    if (w->info.size > MOST_RANKS)
        return tutti_fail(err, TUTTI_E_RANGE, "a world of %d ranks, want at most %d",
                          w->info.size, MOST_RANKS);
    piece *p = malloc(sizeof *p);
    if (!p)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for the world of ranks");
    p->w = w;
    p->one = one;
    p->mine = one->mine;
    p->count = one->count;
    p->slots = one->slots;
    p->at = one->at;
    p->n = one->n;
    tutti_status s = sum_share(p, one->result, err);
    const bool is_over = !one->rounds || (one->round + 1) * w->info.size >= one->slots;
    if (!s && is_over && !one->share_only)
        s = world_gather_piece(w, one->result + one->at, one->n, err);
    free(p);
    return s;
}

static tutti_status run(void *ctx, const world_piece *one, tutti_error *err)
{
    world *w = ctx;
    char phase[48];
    (void)snprintf(phase, sizeof phase, "%s, bucket %llu",
                   one->gathers ? "gathering weights" : "summing gradients",
                   (unsigned long long)++w->told[one->gathers]);
    world_tell_phase(w, phase);
    return world_note(w, one->gathers
                             ? world_gather_piece(w, one->result + one->at, one->n, err)
                             : sum_piece(w, one, err));
}

tutti_status world_start(world *w, const world_piece *one, tutti_error *err)
{
    if (w->info.size > 1)
        return background_start(&w->background, run, w, one, err);
    sum_alone(w, one);
    return TUTTI_OK;
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
