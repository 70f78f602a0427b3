/* slot_gradients.c - gradients of a rank's slots, and their sum over all slots while the backward pass runs. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/ranks/slot_gradients.h"
#include "train/ranks/slot_buffers.h"

#include "graph/runtime/host_memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static tutti_status no_memory(uint64_t bytes, tutti_error *err)
{
    return tutti_fail(err, TUTTI_E_NOMEM, "no memory for %llu bytes of gradients of a slot",
                      (unsigned long long)bytes);
}

static float *arena(const slot_gradients *g)
{
    float *weights, *gradients;
    int64_t n;
    net_arena(g->run->net, &weights, &gradients, &n);
    return gradients;
}

/* ---- what fits the net ---- */

static void free_pool(slot_gradients *g)
{
    for (uint32_t k = 0; k < g->npool; k++)
        free(g->pool[k]);
    g->npool = 0;
}

void gradients_close(slot_gradients *g)
{
    free_pool(g);
    gradient_shards_close(&g->shards);
    weights_close(&g->weights);
    free((void *)g->pool);
    free(g->buffers);
    free(g->before);
    free(g->tail);
    buckets_free(&g->buckets);
}

/* Bucket by bucket, in the host's memory. */
static bool weights_are_gathered(const slot_gradients *g)
{
    return g->weights.wanted || (g->weights.keeps && !context_is_remote(g->run));
}

/* Ranks whose buckets had another order would add up, or gather, what does not belong together. */
static tutti_status compare_buckets(slot_gradients *g, tutti_error *err)
{
    char sums[24], gathers[24];
    (void)snprintf(sums, sizeof sums, "%016" PRIx64,
                   buckets_hash(&g->buckets, (uint64_t)g->numbers));
    (void)snprintf(gathers, sizeof gathers, "%016" PRIx64, weights_order(&g->weights));
    const world_item items[] = {{"order of gradients", sums}, {"order of weights", gathers}};
    return world_compare(g->world, items, weights_are_gathered(g) ? 2 : 1, err);
}

static tutti_status take_lists(slot_gradients *g, uint32_t weights, tutti_error *err)
{
    uint32_t *buffers = realloc(g->buffers, (weights + 1) * sizeof *buffers);
    float **pool = g->pool ? g->pool : calloc(SLOT_BLOCKS, sizeof *pool);
    g->buffers = buffers ? buffers : g->buffers;
    g->pool = pool;
    return buffers && pool ? TUTTI_OK : no_memory(weights * sizeof *buffers, err);
}

static tutti_status take_places(slot_gradients *g, tutti_error *err)
{
    const uint64_t bytes = (uint64_t)(g->numbers - g->ngradients) * sizeof *g->tail;
    unsigned char *before = realloc(g->before, g->before_bytes + 1);
    float *tail = realloc(g->tail, bytes + sizeof *tail);
    g->before = before ? before : g->before;
    g->tail = tail ? tail : g->tail;
    return before && tail ? TUTTI_OK : no_memory(g->before_bytes + bytes, err);
}

bool gradients_fit(const slot_gradients *g)
{
    return g->version == net_version(g->run->net) && g->buckets.list;
}

static tutti_status fit_weights(slot_gradients *g, const plan *p, tutti_error *err)
{
    uint32_t *steps = calloc(g->buckets.count + 1, sizeof *steps);
    if (!steps)
        return no_memory(g->buckets.count * sizeof *steps, err);
    for (uint32_t k = 0; k < g->buckets.count; k++)
        steps[k] = g->buckets.list[k].step;
    const tutti_status s =
        weights_fit(&g->weights, p, g->weights.overlaps ? steps : NULL, g->buckets.count, err);
    free(steps);
    return s;
}

/* All ranks know of the same shapes, and admit them in the same order. */
static bool is_admitted(const plan_shapes *s, uint64_t shape)
{
    bool known = false;
    for (size_t k = 0; k < PLAN_SHAPES; k++)
        known = known || s->known[k] == shape;
    return known;
}

/* Where weights are sharded; *ret_new: their order may have changed. */
static tutti_status admit(slot_gradients *g, const plan *p, bool *ret_new, tutti_error *err)
{
    if (!g->weights.wanted || !p || !plan_uses_weights_here(p))
        return TUTTI_OK;
    const uint64_t shape = plan_shape(p) ^ g->weights.overlaps;
    if (is_admitted(&g->weights.admitted, shape))
        return TUTTI_OK;
    uint32_t *steps = calloc(g->buckets.count + 1, sizeof *steps), last = 0;
    if (!steps)
        return no_memory(g->buckets.count * sizeof *steps, err);
    for (uint32_t k = 0; k < g->buckets.count; k++) { /* sums keep their order */
        const gradient_bucket *b = &g->buckets.list[k];
        const uint32_t step = plan_gradient_step(p, b->first, b->count);
        steps[k] = last = step > last ? step : last;
    }
    weights_admit(&g->weights, p, g->weights.overlaps ? steps : NULL, g->buckets.count);
    free(steps);
    plan_shapes *const all = &g->weights.admitted;
    all->known[all->next++ % PLAN_SHAPES] = shape;
    *ret_new = true;
    return TUTTI_OK;
}

static tutti_status fit(slot_gradients *g, const plan *p, bool *ret_new, tutti_error *err)
{
    net *n = g->run->net;
    float *weights, *gradients;
    if (gradients_fit(g))
        return TUTTI_OK;
    free_pool(g);
    net_arena(n, &weights, &gradients, &g->ngradients);
    if (g->rules.buffers_only)
        g->ngradients = 0;
    if (g->run->file->distributed.sharding == SHARDING_NONE && /* else shards are there */
        !g->rules.buffers_only)
        world_fit_bucket(g->world, g->ngradients);
    tutti_status s = take_lists(g, net_weight_count(n), err);
    if (s)
        return s;
    buffers_list(g, p);
    if ((s = take_places(g, err)) ||
        (s = buckets_make(&g->buckets, g->world, p, g->ngradients, err)) ||
        (weights_are_gathered(g) && (s = fit_weights(g, p, err))))
        return s;
    *ret_new = true;
    g->weights.admitted = (plan_shapes){.next = 0};
    if (g->shards.on)
        host_memory_renew_small(gradients, (uint64_t)g->ngradients * sizeof *gradients);
    g->version = net_version(n);
    return TUTTI_OK;
}

/* ---- slots ---- */

slot_list gradients_slots(const slot_gradients *g, int64_t slots, int32_t rank)
{
    const int32_t size = world_size(g->world);
    return g->shards.on ? slots_in_turn(slots, size, rank) : slots_in_row(slots, size, rank);
}

tutti_status gradients_begin(slot_gradients *g, int64_t slots, const plan *p, const plan *last,
                             tutti_error *err)
{
    bool is_new = false;
    tutti_status s = fit(g, p, &is_new, err);
    if (!s)
        s = admit(g, p, &is_new, err);
    if (!s)
        s = admit(g, last, &is_new, err);
    if (!s && is_new)
        s = compare_buckets(g, err);
    if (!s && g->shards.on)
        s = gradient_shards_begin(&g->shards, g->world, slots, g->ngradients,
                                  g->numbers - g->ngradients, err);
    if (s)
        return s;
    g->slots = slots;
    g->mine = gradients_slots(g, slots, world_rank(g->world));
    g->nblocks = 0;
    g->stack = (slot_stack){.rounded = g->rules.half ? g->ngradients : 0};
    g->started = 0;
    g->shards.begun = false;
    g->error = (tutti_error)TUTTI_ERROR_INIT;
    buffers_copy(g, false);
    weights_begin_round(&g->weights);
    return TUTTI_OK;
}

/* The round's sums are there, before the next slot's backward pass writes gradients.  `failed`: this rank has. */
static tutti_status end_round(slot_gradients *g, bool failed, tutti_error *err)
{
    if (g->rules.end_round)
        g->rules.end_round(g->rules.ctx, failed);
    const tutti_status s = world_finish(g->world, err);
    if (!g->error.status)
        g->error = g->weights.error;
    g->shards.round++;
    g->shards.begun = false;
    g->started = g->nblocks = 0;
    weights_begin_round(&g->weights);
    return s;
}

tutti_status gradients_begin_slot(slot_gradients *g, tutti_error *err)
{
    const tutti_status s = g->shards.begun ? end_round(g, false, err) : TUTTI_OK;
    buffers_copy(g, true);
    return s;
}

bool gradients_starts(const slot_gradients *g, int64_t slot)
{
    return g->shards.on || slot == g->mine.first + g->mine.count - 1;
}

/* This rank's blocks of the tree; in rounds the slot of the present one is its only one. */
static uint32_t own_blocks(const slot_gradients *g, slot_span blocks[SLOT_BLOCKS])
{
    if (!g->shards.on)
        return slots_blocks((slot_span){g->mine.first, g->mine.count}, blocks);
    blocks[0] = (slot_span){g->mine.first + g->shards.round * g->mine.step, 1};
    return g->shards.round < g->mine.count;
}

/* An array that nothing is in; NULL when there is no memory. */
static float *take_array(slot_gradients *g)
{
    for (uint32_t k = 0; k < g->npool; k++)
        if (!slot_stack_holds(&g->stack, g->blocks, g->nblocks, g->pool[k]))
            return g->pool[k];
    float *array =
        g->npool < SLOT_BLOCKS
            ? aligned_alloc(64, ((uint64_t)g->numbers * sizeof *array + 63) / 64 * 64 + 64)
            : NULL;
    if (array)
        g->pool[g->npool++] = array;
    return array;
}

/* Blocks of the tree are summed one after the other. */
static void end_block(slot_gradients *g, int64_t slot)
{
    slot_span blocks[SLOT_BLOCKS];
    (void)own_blocks(g, blocks);
    const slot_span *block = &blocks[g->nblocks];
    if (slot + 1 < block->first + block->count)
        return;
    g->blocks[g->nblocks++] = g->stack.sums[0];
    g->stack.count = 0;
}

/* Where the sums of this rank's blocks will be: the last one's in the first array of its stack, which gets the last
 * slot's gradients bucket by bucket, or in the arena itself. */
static void name_blocks(slot_gradients *g)
{
    slot_span blocks[SLOT_BLOCKS];
    const uint32_t count = own_blocks(g, blocks);
    const bool in_arena = g->stack.count == 0;
    if (g->nblocks < count)
        g->blocks[g->nblocks++] =
            (slot_sum){in_arena ? arena(g) : g->stack.sums[0].data, blocks[count - 1]};
    for (uint32_t k = 0; k < count; k++) {
        float *tail = in_arena && k == count - 1 ? g->tail : g->blocks[k].data + g->ngradients;
        g->tails[k] = (slot_sum){tail, blocks[k]};
    }
}

static void start(slot_gradients *g, const world_piece *piece)
{
    tutti_error error = TUTTI_ERROR_INIT;
    if (world_start(g->world, piece, &error) && !g->error.status)
        g->error = error;
}

/* What is read will be written before it is read again, but for the sums of this rank. */
static void give_back(void *ctx, int64_t at, int64_t n)
{
    const slot_gradients *g = ctx;
    host_memory_release(arena(g) + at, (uint64_t)n * sizeof(float));
}

static void add_last_slot(slot_gradients *g, const gradient_bucket *b)
{
    float *gradients = arena(g) + b->first;
    if (g->rules.half && g->nblocks > 0)
        slots_round(gradients, b->count, g->run->threads);
    slot_stack_add_part(&g->stack, gradients, b->first, b->count, g->run->threads);
}

/* The last slot's gradients of the next bucket are there, or are `absent`. */
static void start_bucket(slot_gradients *g, const slot_sum *mine, bool overlapped)
{
    weights_before_sum(&g->weights, g->started);
    const gradient_bucket *b = &g->buckets.list[g->started++];
    if (mine != g->absent)
        add_last_slot(g, b);
    start(g, &(world_piece){.slots = g->slots,
                            .mine = mine,
                            .count = g->nblocks,
                            .at = b->first,
                            .n = b->count,
                            .result = arena(g),
                            .shard_only = g->rules.shard_only,
                            .half = g->rules.half,
                            .rounds = g->shards.on ? &g->shards.sums : NULL,
                            .round = g->shards.round,
                            .own_at = b->own,
                            .overlapped = overlapped,
                            .most = g->shards.gives_back ? GRADIENT_BUCKETS_WAITING : 0,
                            .was_read = g->shards.gives_back ? give_back : NULL,
                            .ctx = g});
}

/* What is left of them, then the buffers. */
static void start_rest(slot_gradients *g, const slot_sum *mine, const slot_sum *tails)
{
    const int64_t n = g->numbers - g->ngradients;
    weights_end_forward(&g->weights);
    while (g->started < g->buckets.count)
        start_bucket(g, mine, false);
    weights_end_backward(&g->weights);
    if (n == 0 || g->started++ > g->buckets.count)
        return;
    if (tails != g->absent)
        slot_stack_add_part(&g->stack, g->tail, g->ngradients, n, g->run->threads);
    start(g, &(world_piece){.slots = g->slots,
                            .mine = tails,
                            .count = g->nblocks,
                            .n = n,
                            .result = g->tail,
                            .rounds = g->shards.on ? &g->shards.sums : NULL,
                            .round = g->shards.round,
                            .own_at = g->shards.own});
}

static void passed(void *ctx, uint32_t step)
{
    slot_gradients *g = ctx;
    while (g->started < g->buckets.count && g->buckets.list[g->started].step <= step)
        start_bucket(g, g->blocks, true);
}

void gradients_watch(slot_gradients *g, plan *p)
{
    name_blocks(g);
    buckets_fit_plan(&g->buckets, p);
    plan_watch_backward(p, passed, g, NULL, 0);
}

tutti_status gradients_end_slot(slot_gradients *g, int64_t slot, double share, tutti_error *err)
{
    float *gradients = arena(g);
    if (gradients_starts(g, slot)) {
        name_blocks(g);
        buffers_pack(g, slot, share, g->tail);
        start_rest(g, g->blocks, g->tails);
        g->shards.begun = g->shards.on;
        return TUTTI_OK;
    }
    if (g->rules.half)
        slots_round(gradients, g->ngradients, g->run->threads);
    if (g->nbuffers == 0 && slot_stack_takes(&g->stack, slot)) {
        slot_stack_push(&g->stack, (slot_sum){gradients, {slot, 1}}, g->ngradients,
                        g->run->threads);
    } else {
        float *array = take_array(g);
        if (!array)
            return no_memory((uint64_t)g->numbers * sizeof *array, err);
        memcpy(array, gradients, (size_t)g->ngradients * sizeof *array);
        buffers_pack(g, slot, share, array + g->ngradients);
        slot_stack_push(&g->stack, (slot_sum){array, {slot, 1}}, g->numbers, g->run->threads);
    }
    end_block(g, slot);
    return TUTTI_OK;
}

/* ---- the end of a batch ---- */

/* A rank that has failed, or has no slots, takes part in what it has not begun with zeros.  It waits for nothing here, since
 * the others do not (background.c); what it has begun has tables of its own. */
static void take_part(slot_gradients *g)
{
    slot_span blocks[SLOT_BLOCKS];
    g->nblocks = own_blocks(g, blocks);
    for (uint32_t k = 0; k < g->nblocks; k++)
        g->absent[k] = (slot_sum){NULL, blocks[k]};
    start_rest(g, g->absent, g->absent);
}

/* The same in all rounds that are left; the last one is one of all ranks. */
static tutti_status take_part_in_rounds(slot_gradients *g, bool failed, tutti_error *err)
{
    const int64_t last = slots_rounds(g->slots, world_size(g->world)) - 1;
    tutti_status s = TUTTI_OK;
    while (!s && (!g->shards.begun || g->shards.round < last)) {
        if (g->shards.begun) {
            s = end_round(g, failed, err);
        } else {
            take_part(g);
            g->shards.begun = true;
        }
    }
    return s;
}

tutti_status gradients_begin_all(slot_gradients *g, bool failed, tutti_error *err)
{
    tutti_status s = TUTTI_OK;
    if (g->shards.on)
        s = take_part_in_rounds(g, failed, err);
    else if (failed || g->mine.count == 0)
        take_part(g);
    if (!g->error.status)
        g->error = g->weights.error;
    return s;
}

tutti_status gradients_end(slot_gradients *g, tutti_error *err)
{
    const tutti_status s = world_finish(g->world, err);
    return s || !g->error.status ? s : tutti_fail(err, g->error.status, "%s", g->error.text);
}

uint64_t gradients_resident(const slot_gradients *g, uint64_t *ret_whole)
{
    *ret_whole = (uint64_t)g->ngradients * sizeof(float);
    return host_memory_resident(arena(g), *ret_whole) + gradient_shards_bytes(&g->shards);
}
