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

/* One operation: who gets and gives how much. */
typedef struct hierarchy {
    world *w;
    const world_piece *one;
    uint64_t unit;                   /* bytes of a number */
    uint64_t *offsets[2], *bytes[2]; /* sent, received; by rank */
    int64_t mine;               /* numbers of the shards that this rank is the courier of */
    slot_sum sums[SLOT_BLOCKS]; /* of this machine's blocks, `mine` numbers each */
    uint32_t count;
} hierarchy;

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

static tutti_status hierarchy_init(hierarchy *h, world *w, const world_piece *one,
                                   uint64_t unit, tutti_error *err)
{
    const size_t size = (size_t)w->info.size;
    uint64_t *all = calloc(4 * size, sizeof *all);
    *h = (hierarchy){.w = w, .one = one, .unit = unit};
    for (size_t k = 0; k < 2 && all; k++) {
        h->offsets[k] = all + 2 * k * size;
        h->bytes[k] = all + (2 * k + 1) * size;
    }
    return all ? TUTTI_OK : tutti_fail(err, TUTTI_E_NOMEM, "no memory for the world of ranks");
}

static void hierarchy_fini(hierarchy *h)
{
    free(h->offsets[0]);
}

/* Rank `r` gets or gives so many numbers, behind those of the ranks before it; returns where the next ones begin. */
static uint64_t set_part(hierarchy *h, int side, int32_t r, uint64_t at, uint64_t numbers)
{
    h->offsets[side][r] = at * h->unit;
    h->bytes[side][r] = numbers * h->unit;
    return at + numbers;
}

static tutti_status send_parts(hierarchy *h, void *out, void *in, tutti_error *err)
{
    const tutti_parts to = {
        .struct_size = sizeof to, .data = out, .offsets = h->offsets[0], .bytes = h->bytes[0]};
    const tutti_parts from = {
        .struct_size = sizeof from, .data = in, .offsets = h->offsets[1], .bytes = h->bytes[1]};
    return world_all_to_all(h->w, &to, &from, err);
}

/* ---- reduce-scatter on the machine ---- */

/* The blocks of the tree that lie wholly among the slots of the machine of `rank`. */
static uint32_t machine_blocks(const hierarchy *h, int32_t rank, slot_span blocks[SLOT_BLOCKS])
{
    const world *w = h->w;
    const world_piece *one = h->one;
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
static void pack_blocks(hierarchy *h, void *to)
{
    const world *w = h->w;
    const world_piece *one = h->one;
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
        (void)set_part(h, 0, r, begin, end - begin);
    }
}

/* What the ranks of this machine send; returns how many numbers. */
static uint64_t expect_blocks(hierarchy *h)
{
    slot_span blocks[SLOT_BLOCKS];
    uint64_t end = 0;
    for (int32_t r = 0; r < h->w->info.size; r++) {
        const uint32_t count = is_here(h->w, r) ? sum_blocks(h->w, h->one, r, blocks) : 0;
        end = set_part(h, 1, r, end, (uint64_t)h->mine * count);
    }
    return end;
}

/* The machine's blocks of what has come. */
static void sum_machine(hierarchy *h, float *from)
{
    slot_span whole[SLOT_BLOCKS], blocks[SLOT_BLOCKS];
    slot_stack stack = {.rounded = h->one->half ? h->mine : 0};
    (void)machine_blocks(h, h->w->info.rank, whole);
    for (int32_t r = 0; r < h->w->info.size; r++) {
        const uint32_t count = is_here(h->w, r) ? sum_blocks(h->w, h->one, r, blocks) : 0;
        for (uint32_t k = 0; k < count; k++, from += h->mine) {
            const slot_span *block = &whole[h->count];
            slot_stack_push(&stack, (slot_sum){from, blocks[k]}, h->mine, 1);
            if (blocks[k].first + blocks[k].count < block->first + block->count)
                continue;
            h->sums[h->count++] = stack.sums[0];
            stack.count = 0;
        }
    }
}

/* ---- reduce-scatter between machines ---- */

/* The machine's sums by the owners of the shards. */
static void pack_sums(hierarchy *h, void *to)
{
    uint64_t end = 0;
    int64_t first = 0;
    for (int32_t s = 0; s < h->w->info.size; s++) {
        const bool mine = carries(h->w, h->w->info.rank, s);
        const int64_t n = mine ? world_shard_length(h->w, h->one->n, s) : 0;
        const uint64_t begin = end;
        for (uint32_t k = 0; k < h->count; k++, end += (uint64_t)n)
            wire_put(h->one, to, end, h->sums[k].data + first, n);
        (void)set_part(h, 0, s, begin, end - begin);
        first += n;
    }
}

static uint64_t expect_sums(hierarchy *h, int64_t own)
{
    slot_span blocks[SLOT_BLOCKS];
    uint64_t end = 0;
    for (int32_t r = 0; r < h->w->info.size; r++) {
        const bool gives = carries(h->w, r, h->w->info.rank);
        const uint32_t count = gives ? machine_blocks(h, r, blocks) : 0;
        end = set_part(h, 1, r, end, (uint64_t)own * count);
    }
    return end;
}

/* Machines follow each other as their slots do. */
static void sum_shard(hierarchy *h, float *from, int64_t own, float *result)
{
    slot_span blocks[SLOT_BLOCKS];
    slot_stack stack = {.rounded = h->one->half ? own : 0};
    slot_sum last = {NULL, {0, 0}};
    sum_take_up(h->w, h->one, &stack);
    for (int32_t r = 0; r < h->w->info.size; r++) {
        const bool gives = carries(h->w, r, h->w->info.rank);
        const uint32_t count = gives ? machine_blocks(h, r, blocks) : 0;
        for (uint32_t k = 0; k < count; k++, from += own) {
            if (last.data)
                slot_stack_push(&stack, last, own, 1);
            last = (slot_sum){from, blocks[k]};
        }
    }
    sum_put_down(h->w, h->one, &stack, last, result, own);
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static tutti_status sum(hierarchy *h, float *result, tutti_error *err)
{
    world *w = h->w;
    const world_piece *one = h->one;
    slot_span blocks[SLOT_BLOCKS];
    const int64_t own = world_shard_length(w, one->n, w->info.rank);
    h->mine = carried(w, one->n, w->info.rank);
    const uint64_t sent = larger((uint64_t)one->n * one->count,
                                 (uint64_t)h->mine * machine_blocks(h, w->info.rank, blocks));
    const uint64_t far = expect_sums(h, own), near = expect_blocks(h);
    tutti_status s = world_reserve(&w->memory, sent + near + far + 3, err);
    if (s)
        return s;
    float *out = w->memory.data, *in = out + sent, *last = in + near;
    pack_blocks(h, out);
    if (one->was_read)
        one->was_read(one->ctx, one->at, one->n);
    if ((s = send_parts(h, out, wire_place(one, in, near), err)))
        return s;
    wire_open(one, in, near);
    sum_machine(h, in);
    pack_sums(h, out);
    (void)expect_sums(h, own);
    if ((s = send_parts(h, out, wire_place(one, last, far), err)))
        return s;
    wire_open(one, last, far);
    sum_shard(h, last, own, result);
    return TUTTI_OK;
}

tutti_status world_sum_hierarchical(world *w, const world_piece *one, float *result,
                                    tutti_error *err)
{
    hierarchy h;
    tutti_status s = hierarchy_init(&h, w, one, wire_unit(one), err);
    if (!s)
        s = sum(&h, result, err);
    hierarchy_fini(&h);
    return s;
}

/* ---- all-gather ---- */

/* This rank's shard to its courier on each machine. */
static void give_shard(hierarchy *h, int64_t n)
{
    const int32_t rank = h->w->info.rank;
    const uint64_t first = (uint64_t)world_shard_begin(h->w, n, rank);
    uint64_t end = 0;
    for (int32_t r = 0; r < h->w->info.size; r++) {
        const bool gets = carries(h->w, r, rank), gives = carries(h->w, rank, r);
        (void)set_part(h, 0, r, first, gets ? (uint64_t)world_shard_length(h->w, n, rank) : 0);
        end = set_part(h, 1, r, end, gives ? (uint64_t)world_shard_length(h->w, n, r) : 0);
    }
}

/* What this rank carries to all of its machine. */
static void spread_shards(hierarchy *h, int64_t n)
{
    uint64_t end = 0;
    for (int32_t r = 0; r < h->w->info.size; r++) {
        const bool here = is_here(h->w, r);
        (void)set_part(h, 0, r, 0, here ? (uint64_t)h->mine : 0);
        end = set_part(h, 1, r, end, here ? (uint64_t)carried(h->w, n, r) : 0);
    }
}

static void place_shards(const hierarchy *h, const char *from, char *data, int64_t n)
{
    for (int32_t r = 0; r < h->w->info.size; r++)
        for (int32_t s = 0; is_here(h->w, r) && s < h->w->info.size; s++) {
            const uint64_t bytes =
                carries(h->w, r, s) ? (uint64_t)world_shard_length(h->w, n, s) * h->unit : 0;
            memcpy(data + (uint64_t)world_shard_begin(h->w, n, s) * h->unit, from, bytes);
            from += bytes;
        }
}

tutti_status world_gather_hierarchical(world *w, void *data, int64_t n, uint64_t unit,
                                       tutti_error *err)
{
    hierarchy h;
    tutti_status s = hierarchy_init(&h, w, NULL, unit, err);
    h.mine = carried(w, n, w->info.rank);
    if (!s)
        s = world_reserve(&w->gathered, (uint64_t)(h.mine + n) + 1, err);
    char *carried_here = (char *)w->gathered.data;
    char *all = s ? NULL : carried_here + (uint64_t)h.mine * unit;
    if (!s) {
        give_shard(&h, n);
        s = send_parts(&h, data, carried_here, err);
    }
    if (!s) {
        spread_shards(&h, n);
        s = send_parts(&h, carried_here, all, err);
    }
    if (!s)
        place_shards(&h, all, data, n);
    hierarchy_fini(&h);
    return s;
}
