/* device_gradients.c - gradients of a rank's slots on a device, and their sum over all slots there. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/ranks/device_gradients.h"

#include "dist/shards.h"
#include "graph/runtime/device_memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static float *arena(const device_gradients *g, int64_t *ret_numbers)
{
    float *weights, *gradients;
    net_arena(g->run->net, &weights, &gradients, ret_numbers);
    return gradients;
}

static void free_pool(device_gradients *g)
{
    for (uint32_t k = 0; k < g->npool; k++)
        device_free(context_device(g->run), g->pool[k]);
    g->npool = 0;
}

static void free_rounds(device_gradients *g)
{
    device_rounds *r = &g->rounds;
    for (uint32_t k = 0; k < r->nsums; k++)
        device_free(context_device(g->run), r->sums.sums[k]);
    free((void *)r->sums.sums);
    r->sums.sums = NULL;
    r->nsums = 0;
}

void device_gradients_close(device_gradients *g, bool failed)
{
    world_device_leave(g->device, failed);
    g->device = NULL;
    if (g->run)
        free_pool(g);
    free_rounds(g);
    cast_close(&g->cast);
    free((void *)g->pool);
    g->pool = NULL;
    buckets_free(&g->buckets);
    free(g->marks);
    g->marks = NULL;
}

/* What fits the net: arrays of its size, and the order of buckets, which is that of all ranks. */
static tutti_status fit(device_gradients *g, const plan *p, tutti_error *err)
{
    char text[24];
    if (g->version == net_version(g->run->net) && g->marks)
        return TUTTI_OK;
    free_pool(g);
    (void)arena(g, &g->numbers);
    if (!g->pool && !(g->pool = calloc(SLOT_BLOCKS, sizeof *g->pool)))
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for gradients of slots");
    if (g->run->file->distributed.sharding == SHARDING_NONE) /* else shards are there */
        world_fit_bucket(g->world, g->numbers);
    tutti_status s = buckets_make(&g->buckets, g->world, p, g->numbers, err);
    if (s)
        return s;
    free(g->marks);
    g->marks = calloc(g->buckets.count + 1, sizeof *g->marks);
    if (!g->marks)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for gradients of slots");
    (void)snprintf(text, sizeof text, "%016" PRIx64,
                   buckets_hash(&g->buckets, (uint64_t)g->numbers));
    const world_item item = {"order of gradients", text};
    if (!(s = world_compare(g->world, &item, 1, err)))
        g->version = net_version(g->run->net);
    return s;
}

/* Places for what rounds come to. */
static tutti_status begin_rounds(device_gradients *g, int64_t slots, tutti_error *err)
{
    device_rounds *r = &g->rounds;
    const int64_t own = world_own(g->world, g->numbers);
    const uint32_t count = slots_waiting(slots, world_size(g->world));
    const uint64_t bytes = ((uint64_t)own + 1) * sizeof(float);
    if (own != r->own)
        free_rounds(g);
    r->own = own;
    r->round = 0;
    float **sums = realloc((void *)r->sums.sums, (count + 1) * sizeof *sums);
    r->sums.sums = sums ? sums : r->sums.sums;
    for (; sums && r->nsums < count; r->nsums++)
        if (!(sums[r->nsums] = device_try_alloc(context_device(g->run), bytes, err)))
            break;
    return sums && r->nsums >= count
               ? TUTTI_OK
               : tutti_fail(err, TUTTI_E_NOMEM, "no memory for %llu bytes of gradients",
                            (unsigned long long)count * bytes);
}

tutti_status device_gradients_begin(device_gradients *g, int64_t slots, slot_list mine,
                                    const plan *p, tutti_error *err)
{
    tutti_status s = fit(g, p, err);
    if (!s && g->rounds.on)
        s = begin_rounds(g, slots, err);
    if (s)
        return s;
    g->stopped = false;
    g->slots = slots;
    g->mine = mine;
    g->nblocks = g->started = 0;
    g->named = false;
    g->stack = (slot_stack){.count = 0};
    g->error = (tutti_error)TUTTI_ERROR_INIT;
    if ((s = world_device_hear(g->device, err)))
        return s;
    const int64_t most = world_bucket(g->world);
    const world_piece any = {.slots = slots,
                             .n = g->numbers < most ? g->numbers : most,
                             .half = g->half,
                             .rounds = g->rounds.on ? &g->rounds.sums : NULL};
    return world_device_reserve(g->device, &any, err);
}

/* This rank's blocks of the tree; in rounds the slot of the present one is its only one. */
static uint32_t own_blocks(const device_gradients *g, slot_span blocks[SLOT_BLOCKS])
{
    if (!g->rounds.on)
        return slots_blocks((slot_span){g->mine.first, g->mine.count}, blocks);
    blocks[0] = (slot_span){g->mine.first + g->rounds.round * g->mine.step, 1};
    return g->rounds.round < g->mine.count;
}

/* An array that nothing is in. */
static tutti_status take_array(device_gradients *g, float **ret_array, tutti_error *err)
{
    const uint64_t bytes = (uint64_t)g->numbers * sizeof(float);
    uint32_t k = 0;
    while (k < g->npool && slot_stack_holds(&g->stack, g->blocks, g->nblocks, g->pool[k]))
        k++;
    if (k == g->npool) {
        float *array =
            k < SLOT_BLOCKS ? device_try_alloc(context_device(g->run), bytes, err) : NULL;
        if (!array)
            return tutti_fail(err, TUTTI_E_NOMEM,
                              "no memory for %llu bytes of gradients of a slot",
                              (unsigned long long)bytes);
        g->pool[g->npool++] = array;
    }
    *ret_array = g->pool[k];
    return TUTTI_OK;
}

/* Where the slot's gradients stay: in the arena, where nothing overwrites them before they are added to others. */
static tutti_status keep(device_gradients *g, int64_t slot, float **ret_array, tutti_error *err)
{
    int64_t numbers;
    float *gradients = arena(g, &numbers);
    *ret_array = gradients;
    if (slot_stack_takes(&g->stack, slot))
        return TUTTI_OK;
    const tutti_status s = take_array(g, ret_array, err);
    return s ? s
             : device_copy(context_device(g->run), *ret_array, gradients,
                           (uint64_t)numbers * sizeof(float), TUTTI_COPY_ON_DEVICE, err);
}

/* Blocks of the tree are summed one after the other. */
static void end_block(device_gradients *g, int64_t slot)
{
    slot_span blocks[SLOT_BLOCKS];
    (void)own_blocks(g, blocks);
    const slot_span *block = &blocks[g->nblocks];
    if (slot + 1 < block->first + block->count)
        return;
    g->blocks[g->nblocks++] = g->stack.sums[0];
    g->stack.count = 0;
}

/* Where the sum of the last block will be: in the first array of its stack, which gets the last slot's gradients bucket by
 * bucket, or in the arena itself. */
static void name_last_block(device_gradients *g)
{
    slot_span blocks[SLOT_BLOCKS];
    int64_t numbers;
    const uint32_t count = own_blocks(g, blocks);
    if (g->named || count == 0)
        return;
    float *data = g->stack.count ? g->stack.sums[0].data : arena(g, &numbers);
    g->blocks[g->nblocks++] = (slot_sum){data, blocks[count - 1]};
    g->named = true;
}

/* Sums begin with this slot's gradients. */
static bool starts(const device_gradients *g, int64_t slot)
{
    return g->rounds.on || slot == g->mine.first + g->mine.count - 1;
}

/* ---- sums ---- */

/* The device has all to do of it before anybody waits. */
static tutti_status start_bucket(device_gradients *g, tutti_error *err)
{
    const gradient_bucket *b = &g->buckets.list[g->started++];
    int64_t numbers;
    float *gradients = arena(g, &numbers);
    const world_piece piece = {.slots = g->slots,
                               .mine = g->blocks,
                               .count = g->nblocks,
                               .at = b->first,
                               .n = b->count,
                               .result = gradients,
                               .shard_only = g->shard_only,
                               .half = g->half,
                               .rounds = g->rounds.on ? &g->rounds.sums : NULL,
                               .round = g->rounds.round,
                               .own_at = b->own};
    const tutti_status s =
        g->nblocks ? world_device_add_part(g->device, &g->stack, gradients + b->first, b->first,
                                           b->count, err)
                   : TUTTI_OK;
    return s ? s : world_device_sum(g->device, &piece, err);
}

/* The last slot's gradients of these buckets are there, for what the device is given next. */
static void passed(void *ctx, uint32_t step)
{
    device_gradients *g = ctx;
    tutti_error why = TUTTI_ERROR_INIT;
    while (!g->error.status && g->started < g->buckets.count &&
           g->buckets.list[g->started].step <= step)
        if (start_bucket(g, &why))
            g->error = why;
}

tutti_status device_gradients_end_slot(device_gradients *g, int64_t slot, tutti_error *err)
{
    float *array = NULL;
    int64_t numbers;
    if (starts(g, slot)) {
        name_last_block(g);
        if (g->rounds.on && g->connected)
            passed(g, UINT32_MAX);
        return TUTTI_OK;
    }
    tutti_status s = world_device_round(g->device, arena(g, &numbers), g->numbers, err);
    if (!s)
        s = keep(g, slot, &array, err);
    if (!s)
        s = world_device_push(g->device, &g->stack, (slot_sum){array, {slot, 1}}, g->numbers,
                              err);
    if (!s)
        end_block(g, slot);
    return s;
}

/* Where the backward pass is cut: steps that buckets wait for. */
static uint32_t list_marks(device_gradients *g)
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < g->buckets.count; k++) {
        const uint32_t step = g->buckets.list[k].step;
        if (step > 0 && step < UINT32_MAX && (n == 0 || step > g->marks[n - 1]))
            g->marks[n++] = step;
    }
    return n;
}

bool device_gradients_watch(device_gradients *g, int64_t slot, plan *p)
{
    if (!starts(g, slot) || !g->connected || !plan_has_run_backward(p))
        return false;
    buckets_fit_plan(&g->buckets, p);
    const uint32_t n = list_marks(g);
    if (n == 0)
        return false;
    name_last_block(g);
    plan_watch_backward(p, passed, g, g->marks, n);
    return true;
}

static tutti_status start_rest(device_gradients *g, tutti_error *err)
{
    tutti_status s = g->error.status;
    if (s)
        return tutti_fail(err, s, "%s", g->error.text);
    while (g->started < g->buckets.count && !s)
        s = start_bucket(g, err);
    return s;
}

static tutti_status sum(device_gradients *g, tutti_error *err)
{
    tutti_status s = start_rest(g, err);
    if (!s)
        s = world_device_settle(g->device, err);
    g->connected = !s && world_size(g->world) > 1;
    return s;
}

tutti_status device_gradients_sum(device_gradients *g, tutti_error *err)
{
    const tutti_status s = sum(g, err);
    if (s)
        device_gradients_give_up(g);
    return s;
}

/* In the first batch sums begin once all have come: ranks connect.  Whoever cannot begin them says so. */
static tutti_status connect_round(device_gradients *g, bool *ret_stopped, tutti_error *err)
{
    tutti_error why = TUTTI_ERROR_INIT;
    const tutti_status s = start_rest(g, &why);
    if (s)
        g->error = why;
    const tutti_status all = world_device_meet(g->device, s != TUTTI_OK, ret_stopped, err);
    return s ? tutti_fail(err, s, "%s", why.text) : all;
}

/* A rank that cannot go on tells the others here, and none waits for its device. */
void device_gradients_end_round(device_gradients *g, bool failed)
{
    bool stopped = false;
    const bool mine = failed || g->error.status;
    tutti_error heard = TUTTI_ERROR_INIT;
    if (!g->device)
        return;
    tutti_status s = world_device_meet(g->device, mine, &stopped, &heard);
    if (!s && !g->connected)
        s = connect_round(g, &stopped, &heard);
    if (!s)
        s = world_device_finish(g->device, &heard);
    g->connected = !s && world_size(g->world) > 1;
    if (s && !stopped && !mine) /* the others hear of it where they come next */
        g->error = heard;
    g->stopped = stopped && !mine && !g->error.status;
    if (stopped)
        device_gradients_give_up(g);
    g->rounds.round++;
    g->named = false;
    g->started = g->nblocks = 0;
}

bool device_gradients_failed(const device_gradients *g)
{
    return g->error.status || (g->run && !g->device);
}

tutti_status device_gradients_check(const device_gradients *g, tutti_error *err)
{
    if (g->error.status)
        return tutti_fail(err, g->error.status, "%s", g->error.text);
    return g->stopped
               ? tutti_fail(err, TUTTI_E_STATE, "another rank could not go on with the batch")
               : TUTTI_OK;
}

tutti_status device_gradients_blame(const device_gradients *g, tutti_status status,
                                    tutti_error *err)
{
    const tutti_error *own = &g->error, other = *err;
    if (!own->status)
        return status;
    const bool told = strstr(own->text, other.text); /* it waited for the others, and says so */
    *err = (tutti_error)TUTTI_ERROR_INIT;
    return tutti_fail(err, own->status, "%s%s%s", own->text, told ? "" : "; ",
                      told ? "" : other.text);
}

void device_gradients_begin_rest(device_gradients *g)
{
    if (g->connected && !g->error.status)
        passed(g, UINT32_MAX);
}

void device_gradients_give_up(device_gradients *g)
{
    world_device_leave(g->device, true);
    g->device = NULL;
}
